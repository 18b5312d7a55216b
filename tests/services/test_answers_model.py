"""Words, words to leave out and conditions, against a model that looks at every message: whatever the indexes are."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from hermes_sessions.model import Catalog, SearchResult
from hermes_sessions.services import answers as answers_module
from hermes_sessions.services import fitting as fitting_module
from hermes_sessions.services.answers import Answers
from hermes_sessions.storage import coverage, exclusion, finding, open_store
from hermes_sessions.storage.query import parse
from tests.builders import NOW, HermesFile
from tests.storage.test_search_complete import BEFORE_WRITING, DAMAGES

SEEDS = 1
"""Stores of each kind. To look for long: `SEEDS = 300` and no other test."""

QUERIES = 30
"""Queries asked of each store."""

WORDS = ("art", "start", "artful", "docker", "import os", "C++", "数据", "数据库", "go", "café", "fine", "é", "100%")
SOURCES = ("cli", "telegram", "cron")
CONDITIONS = (
    "source:cli",
    "-source:cron,cli",
    "cost:>3",
    "cost:<=3",
    "-cost:>1",
    "title:talk",
    "messages:>4",
    "has:cost",
)
OF_MESSAGES = ("role:user", "-role:tool", "role:tool", "-role:user")


class Said(NamedTuple):
    role: str
    text: str


class Talk(NamedTuple):
    """A conversation as the model knows it."""

    id: str
    names: tuple[str, ...]
    """Titles and ids of its sessions."""
    titles: tuple[str, ...]
    source: str
    cost: float | None
    said: tuple[Said, ...]


def write(file: HermesFile, random: random.Random) -> list[Talk]:
    """Talks of one to three sessions, side by side in time, with undone messages, tool calls and images."""
    plans = []
    for number in range(random.randint(6, 14)):
        money = random.choice((None, 0.0, 1.5, 3.0, 7.0))
        segments = [f"t{number}-{at}" for at in range(random.choice((1, 1, 2, 3)))]
        plans.append((segments, random.choice(SOURCES), money))
    talks = []
    for segments, source, money in plans:
        titles = []
        for at, id in enumerate(segments):
            title = f"{random.choice(('talk', random.choice(WORDS), 'plan'))} {segments[0]}{at}"
            titles.append(title)
            spent: dict[str, Any] = (
                {} if money is None or at else {"estimated_cost_usd": money, "cost_status": "estimated"}
            )
            file.session(id, source, title=title, parent=segments[at - 1] if at else None, **spent)
            if at + 1 < len(segments):
                file.end(id, "compression")
        talks.append(Talk(segments[-1], (*titles, *segments), tuple(titles), source, money, ()))
    # Messages of all talks in turn, so that none has ids of its own.
    said_by: dict[str, list[Said]] = {talk.id: [] for talk in talks}
    for _ in range(random.randint(20, 60)):
        place = random.randrange(len(plans))
        said_by[talks[place].id] += say(file, random, random.choice(plans[place][0]))
    for (segments, _, _), talk in zip(plans, talks, strict=True):
        said_by[talk.id].append(Said("user", "the end"))
        file.message(segments[-1], "user", "the end")
    return [talk._replace(said=tuple(said_by[talk.id])) for talk in talks]


def say(file: HermesFile, random: random.Random, session: str) -> list[Said]:
    text = random.choice((" ", "\n", ", ", "_", "\t", "“")).join(
        random.choice((*WORDS, "import\n os", "lorem", "ipsum")) for _ in range(random.randint(1, 3))
    )
    kind = random.randint(0, 5)
    if kind < 2:
        text = text.replace("import\n os", "import os")  # an index does not see what JSON makes of this
    if kind == 0:
        result = random.choice(WORDS)
        file.tool_call(session, "shell", {"command": text}, {"output": f"x\n{result}"})
        return [Said("assistant", f"shell\x00{text}"), Said("tool", f"shell\x00x\n{result}")]
    if kind == 1:
        file.message(
            session, "user", [{"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": "u"}}]
        )
        return [Said("user", text)]
    if kind == 2 and file.has("messages", "active"):
        undone = file.message(session, "user", text)
        file.sql("UPDATE messages SET active = 0 WHERE id = ?", (undone,))
        return []
    role = random.choice(("user", "assistant"))
    file.message(session, role, text)
    return [Said(role, text)]


class Asked(NamedTuple):
    """A query as the model knows it."""

    text: str
    words: tuple[str, ...]
    excluded: tuple[str, ...]
    conditions: tuple[str, ...]
    of_messages: tuple[str, ...]


def query(random: random.Random) -> Asked:
    def some(choices: tuple[str, ...], most: int) -> tuple[str, ...]:
        return tuple(random.sample(choices, random.randint(0, most)))

    words, excluded = some(WORDS, 1), some(WORDS, 2)
    conditions, of_messages = some(CONDITIONS, 2), some(OF_MESSAGES, 1) if random.random() < 0.3 else ()
    parts = [*(f'"{word}"' for word in words), *(f'-"{word}"' for word in excluded), *conditions, *of_messages]
    random.shuffle(parts)
    return Asked(" ".join(parts), words, excluded, conditions, of_messages)


def stands_in(word: str, text: str) -> bool:
    """Whether a word that is left out stands in a text, which takes it away."""
    text = " ".join(text.lower().replace("é", "e").split())
    word = re.escape(word.lower().replace("é", "e"))
    alone = word if re.search(r"[^a-z\\ ]", word) else rf"(?<![^\W_]){word}(?![^\W_])"
    return re.search(alone, text) is not None


def is_in(word: str, text: str) -> bool:
    return word.lower().replace("é", "e") in " ".join(text.lower().replace("é", "e").split())


def fits(talk: Talk, condition: str) -> bool:
    match condition:
        case "source:cli":
            return talk.source == "cli"
        case "-source:cron,cli":
            return talk.source == "telegram"
        case "title:talk":
            return any("talk" in title for title in talk.titles)
        case "messages:>4":
            return len(talk.said) > 4
        case "has:cost":
            return bool(talk.cost)
    if talk.cost is None:
        return False
    return {"cost:>3": talk.cost > 3, "cost:<=3": talk.cost <= 3, "-cost:>1": talk.cost <= 1}[condition]


def of_message(said: Said, condition: str) -> bool:
    role = condition.rpartition(":")[2]
    return (said.role == role) is not condition.startswith("-")


def found_by_model(asked: Asked, talks: list[Talk]) -> set[str]:
    return {talk.id for talk in talks if all(fits(talk, each) for each in asked.conditions) and is_found(asked, talk)}


def is_found(asked: Asked, talk: Talk) -> bool:
    def is_left(text: str) -> bool:
        return not any(stands_in(word, text) for word in asked.excluded)

    if not asked.words and not any(not each.startswith("-") for each in asked.of_messages):
        told = all(of_message(said, each) for said in talk.said for each in asked.of_messages)
        return told and all(map(is_left, (*talk.names, *(said.text for said in talk.said))))
    for said in talk.said:
        held = all(is_in(word, said.text) for word in asked.words)
        if held and is_left(said.text) and all(of_message(said, each) for each in asked.of_messages):
            return True
    if asked.of_messages:
        return False
    return any(
        all(is_in(word, name) for word in asked.words) and is_left(title) and is_left(id)
        for title, id in zip(talk.names, talk.names[len(talk.titles) :], strict=False)
        for name in (title, id)
    )


def ids(result: SearchResult) -> list[str]:
    return [found.conversation.id for found in result.conversations]


def check(file: HermesFile, talks: list[Talk], random: random.Random) -> None:
    """`run`, its pages, both orders, `conversations` and the growing answers are what the model says."""
    store = open_store(file.path)
    catalog: Catalog = store.sessions.catalog()
    for _ in range(QUERIES):
        asked = query(random)
        text = f"{asked.text} "
        expected = found_by_model(asked, talks)
        answers = Answers(store, lambda: NOW)
        whole = answers.run(parse(text, NOW), catalog, limit=0)
        assert whole.complete, text
        assert sorted(ids(whole)) == sorted(expected), (text, file.version)
        assert set(answers.conversations(parse(text, NOW), catalog)) == expected, text
        ranked = answers.run(parse(text, NOW), catalog, limit=0, order="relevance")
        assert sorted(ids(ranked)) == sorted(expected), text
        page = answers.run(parse(text, NOW), catalog, limit=2, offset=1)
        assert ids(page) == ids(whole)[1:3], text
        shown: list[str] = []
        for result in Answers(store, lambda: NOW).stream(parse(text, NOW), catalog):
            assert ids(result)[: len(shown)] == shown, "an answer begins with the one before it"
            shown = ids(result)
        assert (shown, result.complete) == (ids(whole), True), text
    store.close()


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name, value in (
        (answers_module, "FIRST_STEP", 2),
        (fitting_module, "AHEAD", 1),
        (fitting_module, "ENOUGH", 4),
        (fitting_module, "FEW", 0.4),
        (exclusion, "TOGETHER", 3),
        (exclusion, "CHECKED_AT_ONCE", 2),
        (exclusion, "NEAR", 3),
        (finding, "FIRST_PAGE", 1),
        (finding, "PAGE", 2),
    ):
        monkeypatch.setattr(module, name, value)


@pytest.mark.parametrize("version", [6, 11, 16, 22, 31])
@pytest.mark.parametrize("seed", range(SEEDS))
def test_every_way_to_an_answer_says_what_the_model_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: int, seed: int
) -> None:
    """By the indexes, as in a store too big to be read."""
    monkeypatch.setattr(coverage, "READ_ANYWAY", 0)
    source = random.Random(f"{version} {seed}")
    with HermesFile(tmp_path / "state.db", version) as file:
        check(file, write(file, source), source)


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_and_missing_indexes_change_no_answer(tmp_path: Path, damage: str) -> None:
    versions: tuple[int, ...]
    break_it: Callable[[HermesFile], None]
    versions, break_it = DAMAGES[damage]
    for version in versions:
        source = random.Random(f"{damage} {version}")
        with HermesFile(tmp_path / f"{version}" / "state.db", version) as file:
            if damage in BEFORE_WRITING:
                break_it(file)
            talks = write(file, source)
            if damage not in BEFORE_WRITING:
                break_it(file)
            check(file, talks, source)
