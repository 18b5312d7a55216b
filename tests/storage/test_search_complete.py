"""Whatever is seen of a store is found in it, and what is found is seen: on every layout, with every index, with
damaged ones and with none."""

from __future__ import annotations

import json
import random
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from hermes_sessions.model import Catalog, Message
from hermes_sessions.storage import Store, coverage, open_store
from hermes_sessions.storage.matching import Needles
from hermes_sessions.storage.query import has_cjk, parse
from hermes_sessions.text import clean
from hermes_sessions.tui.message_blocks import compose
from tests.builders import LAYOUTS, HermesFile

SEEDS = 1
"""Stores of each kind. To look for long: `SEEDS = 200` and no other test."""

PIECES = 25
"""Substrings looked for in each store."""

WORDS = (
    *(
        "the docker Network",
        "getUserLogin()",
        "sp_new1",
        "zebra",
        "xylophone quick",
        "naïve résumé",
        "Straße",
        "Ünïcode Ærø",
    ),
    *(
        "crème brûlée",
        "数据库锁定",
        "看看这个图片里的错误",
        "検索エンジン",
        "カタカナ",
        "ひらがな文",
        "한국어 텍스트",
        "검색어",
    ),
    *("ภาษาไทยไม่มีวรรค", "กำลังทดสอบ", "البحث في النص", "مُحَمَّد", "שלום עולם", "Привет мир", "Ελληνικά ς", "हिन्दी में"),
    *(
        "😀👍🏽",
        "👨‍👩‍👧‍👦",
        "❤️ plan",
        "🇩🇪🇫🇷",
        "C++",
        "#2",
        "100%",
        "a_b%c",
        "mm/slub.c",
        "C:\\srv\\x.txt",
        "/usr/lib/x-1.so",
    ),
    *(
        "https://x.y/z?q=1&r=2",
        "foo@bar.org",
        "if (a[i] != 'b') {",
        'x = {"k": [1, 2]}',
        "--error-on-warn",
        "don't",
        "AND OR NOT",
    ),
    *(
        "\x1b[31mRED\x1b[0m: done",
        "li\x1b[4mne\x1b[24md",
        "数\x9b31m据\x1b(B库",
        "\x9bx",
        "oc\x1b[1;32mto\x1b[mpus\x1b]8;;http://x\x07link\x1b]8;;\x07s",
    ),
    *("two  wide\tblanks", "a<b>c</b> & d"),
    *("NEAR(a b)", "^re.*\\d+$", "\u0065\u0301te\u0301", "数x据", "ok", "é", "İstanbul", "ﬁn", "tab\there"),
    *("bell\x07ring", "left\u200eright", "a\x00b nul", "cut\ud83doff".encode("utf-8", "replace").decode()),
)
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "iVBORw0KGgo" * 20}}


class Source(random.Random):
    """What a store is made of."""

    words: Sequence[str] = WORDS


def text(random: Source) -> str:
    return random.choice((" ", "", "\n", ", ")).join(random.choice(random.words) for _ in range(random.randint(1, 4)))


def some_json(random: Source, depth: int = 0) -> object:
    kind = random.randint(0, 5 if depth < 2 else 2)
    if kind < 3:
        return text(random)
    if kind == 3:
        return random.choice((True, None, 12, 0.5, -7))
    if kind == 4:
        return [some_json(random, depth + 1) for _ in range(random.randint(0, 2))]
    return {
        random.choice(("path", "query", "数据", "kéy")): some_json(random, depth + 1)
        for _ in range(random.randint(0, 2))
    }


def write_talks(file: HermesFile, random: Source) -> None:
    """Sessions of people, of machines and of subagents, with a message of every kind in each."""
    ascii = random.random() < 0.5
    for number in range(4):
        source = random.choice(("cli", "telegram", "cron"))
        session = file.session(
            f"2026_{number}é{random.choice('abc')}", source, title=f"{random.choice(WORDS)} {number}"
        )
        for _ in range(random.randint(1, 4)):
            file.message(session, random.choice(("user", "assistant")), text(random))
        parts = [{"type": "text", "text": text(random)}, PICTURE, {"type": "text", "text": text(random)}]
        file.message(session, "user", parts)
        arguments = {"path": text(random), "mode": some_json(random), "数据": text(random)}
        result = {
            "output": text(random) + "\n" + text(random),
            "exit_code": random.choice((0, 1)),
            "note": some_json(random),
        }
        file.tool_call(
            session,
            random.choice(("web_search", "read_file", "写文件")),
            json.dumps(arguments, ensure_ascii=ascii),
            json.dumps(result, ensure_ascii=not ascii),
        )
        escaped = json.dumps({"command": text(random), "note": [text(random)]}).replace("/", "\\/")
        for sign in "<>&'":
            escaped = escaped.replace(sign, f"\\u{ord(sign):04X}")
        file.tool_call(session, "shell", escaped, escaped)
        file.tool_call(session, "shell", text(random), text(random))
    long = file.session("long")
    file.tool_call(long, "shell", {"command": "cat"}, "x" * 8_190 + " behind the cut 数据末尾")
    file.message(long, "user", "short 尾")
    child = file.delegate("long")
    file.message(child, "assistant", text(random))


def shown_of(message: Message) -> list[str]:
    """Every text that a transcript shows of a message."""
    names = (message.tool_name, *(call.name for call in message.tool_calls))
    return [*(name for name in names if name), *(block.body.text for block in compose(message, whole=True))]


def seen_in(store: Store, catalog: Catalog) -> Iterator[tuple[str, str]]:
    """Every line and every text that a person can see, and the conversation it is in."""
    for conversation in catalog:
        for session in conversation.sessions:
            yield session.id, conversation.id
            if session.title:
                yield clean(session.title), conversation.id
        for message in store.messages.get(stub.id for stub in store.messages.outline(conversation)).values():
            for text in shown_of(message):
                for line in (*text.split("\n"), text):
                    if line.strip():
                        yield line, conversation.id


def visible(text: str) -> int:
    """How many characters stand on their own: no marks, joiners and blanks."""
    return sum(unicodedata.category(char)[0] in "LNPS" for char in text)


def typed_plainly(text: str) -> str:
    """As one types who has no accents: Latin letters without them, in small letters, any white space as a blank."""
    bare = (unicodedata.normalize("NFD", char)[0] for char in text)
    return " ".join("".join(b if b.isascii() else c for b, c in zip(bare, text, strict=True)).lower().split())


def pieces(random: Source, lines: list[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    for _ in range(PIECES):
        line, conversation = random.choice(lines)
        start = random.randrange(len(line))
        piece = line[start : start + random.choice((1, 2, 2, 3, 3, 4, 6, 9, 20, 200))].strip()
        if random.random() < 0.2:
            piece = typed_plainly(piece)
        if visible(piece) >= 2 or (piece and has_cjk(piece)):
            yield piece, conversation


def check(file: HermesFile, random: Source) -> None:
    store = open_store(file.path)
    catalog = store.sessions.catalog()
    for piece, conversation in pieces(random, list(seen_in(store, catalog))):
        quoted = '"' + piece.replace('"', '""') + '"'
        plain = parse(piece)
        asked = (
            [quoted] if plain.excluded or plain.conditions or len(plain.clauses) > 5 else [quoted, piece, f"{piece} "]
        )
        for query in asked:
            result = store.search.run(query, catalog, limit=0)
            found = [hits.conversation.id for hits in result.conversations]
            assert conversation in found, (query, file.version)
            assert len(found) == len(set(found)) and result.complete
            for hits in result.conversations:
                ids = [hit.message_id for hit in hits.hits if hit.message_id is not None]
                assert len(ids) == len(set(ids)), "no message is found twice"
                for id, message in store.messages.get(ids).items():
                    needles, shown = Needles(parse(query)), "\0".join(shown_of(message))
                    seen = needles.fit(shown) or needles.fit(shown, word_starts=True)
                    assert seen, (query, file.version, id, "what is found is seen there")
    store.close()


def in_steps(file: HermesFile) -> None:
    """Leave the file as a program that was rebuilding the indexes did when it was stopped."""
    middle, last = file.sql("SELECT max(id) / 2, max(id) FROM messages")[0]
    for name in ("messages_fts", "messages_fts_trigram"):
        if file.version == 31:
            file.sql(f"INSERT INTO {name}({name}) VALUES ('delete-all')")
            columns = "content, tool_name, tool_calls" if name == "messages_fts" else "content, tool_name"
            file.sql(
                f"INSERT INTO {name}(rowid, {columns}) SELECT id, {columns} FROM {name}_src WHERE id <= ?", (middle,)
            )
        else:
            file.sql(f"DELETE FROM {name} WHERE rowid > ?", (middle,))
    file.sql("INSERT INTO state_meta VALUES ('fts_rebuild_progress', ?), ('fts_rebuild_high_water', ?)", (middle, last))


def without(*statements: str) -> Callable[[HermesFile], None]:
    def damage(file: HermesFile) -> None:
        file.sql("PRAGMA writable_schema = ON")
        for statement in statements:
            file.sql(statement)

    return damage


def garble(file: HermesFile) -> None:
    for name in ("messages_fts", "messages_fts_trigram")[: 1 if file.version == 6 else 2]:
        file.sql(f"UPDATE {name}_data SET block = randomblob(length(block)) WHERE id > 10 AND id % 2")


DAMAGES: dict[str, tuple[tuple[int, ...], Callable[[HermesFile], None]]] = {
    "no tables": (LAYOUTS[1:], without("DROP TABLE messages_fts", "DROP TABLE messages_fts_trigram")),
    "no index of words": (LAYOUTS, without("DROP TABLE messages_fts")),
    "no trigram index": (LAYOUTS[1:], without("DROP TABLE messages_fts_trigram")),
    "emptied data": ((6, 16, 31), without("DELETE FROM messages_fts_data")),
    "emptied segments": ((16, 31), without("DELETE FROM messages_fts_idx", "DELETE FROM messages_fts_trigram_idx")),
    "no shadow table": ((16, 31), without("DELETE FROM sqlite_schema WHERE name = 'messages_fts_trigram_data'")),
    "no triggers": (
        (16, 22, 31),
        without("DROP TRIGGER messages_fts_insert", "DROP TRIGGER messages_fts_trigram_insert"),
    ),
    "garbled": ((6, 16, 31), garble),
    "rebuilt in part": ((16, 22, 31), in_steps),
}
BEFORE_WRITING = {"no triggers"}


@pytest.mark.parametrize("version", LAYOUTS)
@pytest.mark.parametrize("seed", range(SEEDS))
def test_every_piece_of_what_is_seen_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: int, seed: int
) -> None:
    """By the indexes, as in a store too big to be read, and only where they cannot know by reading."""
    monkeypatch.setattr(coverage, "READ_ANYWAY", 0)
    source = Source(f"{version} {seed}")
    with HermesFile(tmp_path / "state.db", version) as file:
        write_talks(file, source)
        check(file, source)


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("seed", range(SEEDS))
def test_every_piece_is_found_with_damaged_indexes_and_without(tmp_path: Path, damage: str, seed: int) -> None:
    versions, break_it = DAMAGES[damage]
    source = Source(f"{damage} {seed}")
    for version in versions:
        with HermesFile(tmp_path / f"{version}" / "state.db", version) as file:
            if damage in BEFORE_WRITING:
                break_it(file)
            write_talks(file, source)
            if damage not in BEFORE_WRITING:
                break_it(file)
            check(file, source)
