"""The database and Python agree on what a word is, whatever stands between two, before the first and after the last."""

from __future__ import annotations

import random
import sys

import psycopg
from psycopg import sql

from app.storage import embedded
from app.storage.word_count_sql import WORDS_OF

SPACES = [one for one in map(chr, range(sys.maxunicode + 1)) if one.isspace()]
LOOKS_EMPTY = ["\u180e", "\u200b", "\u200c", "\u200d", "\u2060", "\ufeff", "\u00ad", "\u3164"]
"""Characters that show nothing and set no words apart."""


def counted(postgres: embedded.EmbeddedServer, texts: list[str], expression: str = WORDS_OF) -> list[int]:
    query = f"SELECT {expression.format(text='t')} FROM unnest(%s::text[]) WITH ORDINALITY AS u (t, n) ORDER BY n"
    with psycopg.connect(postgres.url("admin", "postgres")) as db:
        return [row[0] for row in db.execute(sql.SQL(query), (texts,))]  # type: ignore[arg-type]  # no text of others


def in_python(texts: list[str]) -> list[int]:
    return [len(text.split()) for text in texts]


def test_every_character_sets_words_apart_in_both_or_in_neither(postgres: embedded.EmbeddedServer) -> None:
    points = [*range(1, 0xD800), *range(0xE000, 0x11000), 0x1F600, 0xE0020, 0x10FFFF]
    texts = [f"a{chr(point)}b" for point in points]
    assert counted(postgres, texts) == in_python(texts)
    assert all(ord(one) < 0x11000 for one in SPACES)


def test_white_space_at_the_ends_in_a_row_and_alone_counts_in_neither(postgres: embedded.EmbeddedServer) -> None:
    rng = random.Random(1)
    texts = ["", "\tone", "one\t", " \t\n", "\u3000一 二\u00a0三\u3000", *SPACES, *LOOKS_EMPTY]
    texts += ["".join(rng.choices([*SPACES, *LOOKS_EMPTY, *"ab犬."], k=rng.randrange(12))) for _ in range(2000)]
    assert counted(postgres, texts) == in_python(texts)
    by_server = counted(postgres, texts, r"cardinality(regexp_split_to_array(btrim({text}), '\s+'))")
    assert by_server != in_python(texts), "the server's own white space is another"
