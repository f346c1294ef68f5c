"""The guidelines that come with templates: in English, for managers to adapt to their texts.

Sources: Freitag et al. 2021, appendix (MQM); Kocmi et al. 2024 (ESA); Licht et al. 2022 (XSTS).
"""

from __future__ import annotations

from typing import Final

MQM: Final = """\
# How to mark errors

1. Read the whole segment in both languages, and the segments around it.
2. Mark **every** error, from its first to its last wrong word. Mark no more than is wrong.
3. Give each error a category and a severity:
   - **major**: the meaning changes, or an important part cannot be understood;
   - **minor**: a careful reader notices it, but is not misled.
4. If something is missing, mark the omission in the source.
5. If one wrong word causes several errors, mark the most severe one.
6. If a segment has no errors, say so. This is a judgment too.

If a text is no translation at all, mark the whole of it once as *Non-translation!*.

Judge the translation, not the source: use *Source issue* for faults of the source.
Do not use machine translation or any chat assistant while you work.
"""

ESA: Final = """\
# How to mark errors and score

1. Read the source and the translation.
2. Mark each error in the translation: **minor** if the meaning stays, **major** if the meaning changes.
   Mark what is missing with *omission*.
3. Then score the whole segment from 0 to 100, keeping your marks in mind:
   - **0**: nothing of the meaning is preserved;
   - **33**: some of the meaning is preserved, but important parts are missing or wrong;
   - **66**: most of the meaning is preserved, with few grammar mistakes;
   - **100**: perfect meaning and grammar.
4. Use the whole scale. Judge each segment within its document.

Some items check whether you read carefully. Please do not use machine translation or any chat assistant.
"""

XSTS: Final = """\
# How much meaning do the two sentences share?

You see two sentences in two languages. Compare **what they mean**. Style, fluency and spelling do not matter
as long as you understand both.

1. The sentences are not equivalent and share little detail.
2. The sentences share some details, but are not equivalent.
3. The sentences are mostly equivalent, but some unimportant details differ.
4. The sentences are paraphrases of each other: they differ only in formality, emphasis or idiom.
5. The sentences are completely equivalent in meaning and usage.

If you doubt between two values, take the lower one. Names, numbers, dates and negation are important details.
"""

POST_EDITING: Final = """\
# How to post-edit

1. Correct the translation until it is fit to be published: right meaning, right grammar, the terms of the client.
2. Change **as little as possible**. Leave what is right, even if you would have put it differently.
3. Do not translate from scratch. If an output is of no use, replace it; this is counted.
4. Count as *critical* each error that could harm or seriously mislead a reader.

Do not use machine translation or any chat assistant while you work.
"""

CONTRASTIVE_ESA: Final = """\
# How to compare translations

1. Read the source and any instructions that come with it.
2. In each column, mark each error: **minor** if the meaning stays, **major** if the meaning changes.
   Mark missing content and violated instructions as well.
3. Mark the same error in the same way in every column.
4. Then score each translation from 0 to 100. The slider has five bands. A translation without any error
   gets 85 or more.
5. Translations may be equally good. Give equal scores to equal quality.

The columns are in random order, and the order changes. Do not use machine translation or any chat assistant.
"""
