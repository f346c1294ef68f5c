"""Half-finished campaigns of a real Pearmut move by one command, and every old link goes on at the next document."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from tests.cli.conftest import Command
from tests.cli.conftest import command as command  # a fixture
from tests.formats.pearmut.program import PearmutProgram
from tests.pearmut.campaigns import CHECK, DOCUMENTS, FORM, TUTORIAL, Annotator, campaign

TOKEN = "0123456789"
PASSES = {"token_pass": "well-done", "token_fail": "not-well"}
MARK = {"start_i": 0, "end_i": 7, "severity": "major", "category": None}
RIGHT = {
    "Gut.": {"score": 90, "error_spans": [], "textfield": None},
    "Schlecht.": {"score": 20, "error_spans": [MARK], "textfield": "Besser."},
}
"""What the tutorial wants of each text."""
CHECKED = {"welcome_1": [True], "random_0": [False]}
"""What the page says the rules come to."""
TASKS = campaign(
    campaign_id="by task",
    token=TOKEN,
    info={
        "assignment": "task-based",
        "users": [{"user_id": name, **PASSES} for name in ("ann", "bob", "cid")],
        "data_random_prob": 1.0,
    },
    data=[DOCUMENTS] * 3,
    data_welcome=[FORM, TUTORIAL],
    data_goodbye=[FORM[:1]],
    data_random=[CHECK],
)
STREAM = campaign(
    campaign_id="stream",
    token=TOKEN,
    info={"protocol": "MQM", "users": 2, "mqm_categories": {"Style": ["Awkward"]}, "shuffle": True},
    data=[[{**item, "item_id": f"{n}-{item['item_id']}"} for item in DOCUMENTS[n % 3]] for n in range(6)],
)
SLIDERS = campaign(
    campaign_id="sliders",
    token=TOKEN,
    info={"protocol": "XSTSRP", "sliders": [{"name": "Good tone", "min": 0, "max": 10, "step": 1}], "users": ["ann"]},
)


def answer(page: Annotator, shown: dict[str, Any], score: float) -> None:
    """Answer whatever is shown, as the page would."""
    place, documents = str(shown["info"]["item_i"]), shown["payload"]
    if shown["status"] == "form":
        annotation: list[Any] = ["German", 3, None][: len(documents)]
    elif place == "welcome_1":
        annotation = [{model: RIGHT[text] for model, text in documents[0]["tgt"].items()}]
    else:
        sliders = {"sliders": {"Good tone": 7}} if "sliders" in shown["info"] else {}
        annotation = [
            {
                model: {"score": None if sliders else score - n, "error_spans": [], "textfield": None, **sliders}
                for n, model in zip((0, 5), item["tgt"], strict=False)
            }
            for item in documents
        ]
    checked = {"validations": CHECKED[place]} if place in CHECKED else {}
    assert page.send(shown, annotation, comment=f"Of {place}.", **checked).json() == "ok"


def work(page: Annotator, most: int, score: float = 75) -> list[object]:
    """Answer so many screens; the places."""
    places = []
    for _ in range(most):
        shown = page.next()
        answer(page, shown, score)
        places.append(shown["info"]["item_i"])
    return places


def half_finish(address: str, users: dict[str, list[str]]) -> None:
    """What annotators and the manager do before the move."""
    with httpx.Client(base_url=address, trust_env=False, timeout=30) as client:
        ann, bob, cid = (Annotator(client, "by task", name) for name in ("ann", "bob", "cid"))
        assert work(ann, 5) == ["welcome_0", "welcome_1", "random_0", 0, 1]
        answer(ann, ann.item(0).json(), 60)  # anew
        work(bob, 7)  # to his end
        work(cid, 4)
        manage = {"campaign_id": "by task", "token": TOKEN}
        assert client.post("/reset-campaign", json={**manage, "user_id": "cid"}).json() == "ok"
        work(cid, 1)
        assert client.post("/note-user", json={**manage, "user_id": "ann", "note": "careful"}).json() == "ok"

        one, other = (Annotator(client, "stream", name) for name in users["stream"])
        same = one.next()
        answer(one, same, 80)
        answer(other, same, 70)  # both had it on their screens
        work(one, 2)
        assert client.post("/add-new-user", json={"campaign_id": "stream", "token": TOKEN}).is_success
        work(Annotator(client, "sliders", "ann"), 1)


def ask(client: httpx.Client) -> dict[str, Any]:
    """What a server says of all campaigns: each user by their link, and the dashboard."""
    told: dict[str, Any] = {}
    for name in ("by task", "stream", "sliders"):
        token = {"campaign_id": name, "token": TOKEN}
        data = client.post("/dashboard-data", json=token).json()["data"]
        told[f"{name} results"] = client.post("/dashboard-results", json=token).json()
        for user, said in data.items():
            ids = parse_qs(urlsplit(said["url"]).query)
            shown = Annotator(client, ids["campaign_id"][0], ids["user_id"][0]).next()
            told[f"{name} {user}"] = {
                "next": shown["info"].get("item_i", "the end"),
                **{
                    key: shown.get(key)
                    for key in ("status", "progress", "progress_welcome", "progress_goodbye", "token")
                },
                **{key: said[key] for key in ("note", "token_correct", "token_incorrect", "validations", "time")},
            }
    return told


def counted(folder: Path) -> Counter[tuple[str, str, str, str]]:
    """Lines of the log that count, with what they say."""
    lines = Counter[tuple[str, str, str, str]]()
    for file in (folder / "data" / "annotations").glob("*.jsonl"):
        entries = [json.loads(line) for line in file.read_text().splitlines()]
        resets = {entry["user_id"]: n for n, entry in enumerate(entries) if entry["annotation"] == "__RESET__"}
        lines.update(_line(file.stem, entry) for n, entry in enumerate(entries) if n > resets.get(entry["user_id"], -1))
    return lines


def _line(name: str, entry: dict[str, Any]) -> tuple[str, str, str, str]:
    said = [entry["annotation"], entry.get("comment"), entry["actions"]]
    return name, entry["user_id"], str(entry["item_i"]), json.dumps(said, sort_keys=True)


@pytest.mark.soak
def test_half_finished_campaigns_move_and_every_old_link_goes_on(
    pages: httpx.Client, database_url: str, tmp_path: Path, command: Command
) -> None:
    pearmut = PearmutProgram(tmp_path / "running")
    for n, given in enumerate((TASKS, STREAM, SLIDERS)):
        pearmut.write({f"{n}.json": json.dumps(given).encode()})
        pearmut.run("add", f"{n}.json")
    progress = pearmut.folder / "data" / "progress"
    with pearmut.serving() as address:
        half_finish(address, {"stream": list(json.loads((progress / "stream.json").read_text()))})
        with httpx.Client(base_url=address, trust_env=False, timeout=30) as client:
            before = ask(client)
    lines = counted(pearmut.folder)

    moved = command(database_url, "pearmut", "move", str(pearmut.folder), "--old-ids", "--json")
    assert moved.returncode == 0, moved.stderr
    said = json.loads(moved.stdout)

    now = ask(pages)
    for who, told in before.items():
        if not who.startswith("by task") and isinstance(told, dict) and told["status"] == "ok":
            assert told["progress"][now[who]["next"]] is None  # Pearmut draws one that is open at random
            told["next"] = now[who]["next"]
    assert list(now.items()) == list(before.items())
    assert sum(one["answers"] for one in said) == sum(lines.values())
    assert all(user["before"] == user["now"] for one in said for user in one["progress"].values())
    kept = Counter(
        _line(name, entry)
        for name in ("by task", "stream", "sliders")
        for entry in pages.get("/download-annotations", params={"campaign_id": name, "token": TOKEN}).json()[name]
    )
    assert kept == lines
    for name, user in (("by task", "ann"), ("by task", "cid"), ("sliders", "ann")):
        page = Annotator(pages, name, user)
        while (shown := page.next())["status"] != "goodbye":
            answer(page, shown, 50)
        assert set(shown["progress"]) == {"completed"}
