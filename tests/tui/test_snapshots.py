"""How each state of the screen looks, on the sample history."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from textual.pilot import Pilot

from hermes_sessions.model import BrowseResult
from hermes_sessions.services.settings import Settings
from hermes_sessions.tui.app import BrowserApp
from hermes_sessions.tui.lineage_tree import LineageTree
from hermes_sessions.tui.outline import PromptList
from hermes_sessions.tui.themes import DARK, LIGHT, PLAIN
from tests.builders import HermesFile
from tests.tui.conftest import OpenBrowser
from tests.tui.driving import browser, press, settle, until

WIDE, NARROW, SMALL = (120, 36), (80, 24), (50, 15)
SMALL_AND_WIDE = pytest.mark.parametrize("size", [WIDE, SMALL], ids=lambda size: f"{size[0]}x{size[1]}")
SIZES = pytest.mark.parametrize("size", [WIDE, NARROW, SMALL], ids=lambda size: f"{size[0]}x{size[1]}")

MISTAKES = (
    '~/.config/hermes-sessions/config.toml, line 3: theme: there is no theme "drakula". Did you mean "dracula"?',
    '~/.config/hermes-sessions/config.toml, line 9: keys.zoom: there is no key "Ctrl+T".',
)

LATE_WORK = ("texts", "heights", "find")

SCRIPTS = (
    "整理论文和更新README",
    "한국어 제목입니다 그리고 더",
    "ｆｕｌｌ　ｗｉｄｔｈ",
    "👨‍👩‍👧‍👦 family, 🇳🇴🇯🇵 flags, 👍🏽 skin, 1️⃣ key, ❤️ heart",
    "e\u0301tude a\u0300 la cafe\u0301, Z\u0335\u0321a\u0322\u0338lgo\u0336",
    "مرحبا بالعالم و123 ثم שלום עולם",
    "हिन्दी में शीर्षक, ไทยภาษา, தமிழ்",
    "tab\there, null\x00, bell\x07, \x1b[31mred\x1b[0m, \u202ertl",
)

Size: TypeAlias = tuple[int, int]
Compare: TypeAlias = Callable[..., bool]


def after(*keys: str) -> Callable[[Pilot[BrowseResult]], Awaitable[None]]:
    """What is done before the picture is taken."""

    async def drive(pilot: Pilot[BrowseResult]) -> None:
        await settle(pilot)
        await press(pilot, *keys)
        # Texts on the screen are coloured, and the footer is drawn, behind what is waited for elsewhere.
        await until(pilot, lambda: not any(each.is_running and each.group in LATE_WORK for each in pilot.app.workers))
        await pilot.pause()
        await pilot.pause()

    return drive


@pytest.fixture
def picture(snap_compare: Compare) -> Callable[..., None]:
    def picture(app: BrowserApp, size: Size, *keys: str) -> None:
        assert snap_compare(app, terminal_size=size, run_before=after(*keys))

    return picture


@pytest.fixture
def scripts(hermes_file: HermesFile) -> Path:
    """Sessions in many scripts, the last of them with a table and code."""
    for number, title in enumerate(SCRIPTS):
        session = hermes_file.session(f"s{number}", source="cli", title=title, cwd="/src")
        hermes_file.talk(session, " ".join([title] * 5), title)
    last = hermes_file.session("last", source="cli", title="👩‍👩‍👧‍👦 家族 🇯🇵 👍🏽 עברית e\u0301")
    table = "\n".join(f"| {title} | {len(title)} |" for title in SCRIPTS)
    hermes_file.talk(last, "".join(SCRIPTS) * 2, f"| text | length |\n|---|--:|\n{table}\n\n```\n{SCRIPTS[0]}\n```\n")
    return hermes_file.path


class TestFirstScreen:
    @SIZES
    def test_it(self, demo: Path, open_browser: OpenBrowser, picture: Any, size: Size) -> None:
        """Sessions, the newest one's end, cost and keys."""
        picture(open_browser(demo), size)

    def test_light(self, demo: Path, open_browser: OpenBrowser, picture: Any) -> None:
        """The light theme."""
        picture(open_browser(demo, theme=LIGHT), WIDE, "j", "j")

    def test_without_colour(self, demo: Path, open_browser: OpenBrowser, picture: Any) -> None:
        """Attributes alone: for NO_COLOR."""
        picture(open_browser(demo, theme=PLAIN), WIDE, "/", *"docker")

    def test_pick(self, demo: Path, open_browser: OpenBrowser, picture: Any) -> None:
        """To choose an id: nothing resumes."""
        picture(open_browser(demo, pick=True), NARROW, "down")

    def test_everything_shown(self, demo: Path, open_browser: OpenBrowser, picture: Any) -> None:
        """Archived, empty and subagent sessions too, by their numbers of messages."""
        picture(open_browser(demo), NARROW, "A", "E", "G")

    def test_empty_store(self, hermes_file: HermesFile, open_browser: OpenBrowser, picture: Any) -> None:
        """A store that nothing was written to yet."""
        picture(open_browser(hermes_file.path), WIDE)

    def test_banner(self, demo: Path, open_browser: OpenBrowser, picture: Any) -> None:
        """What a person must know about this store."""
        app = open_browser(demo)
        app._history.notices = (
            "The search index is damaged: searching is slower. `hermes-sessions doctor` says more.",
        )
        picture(app, WIDE)

    def test_mistakes_in_the_configuration(self, demo: Path, open_browser: OpenBrowser, picture: Any) -> None:
        """The first of them, and where the others are read."""
        app = open_browser(demo, problems=MISTAKES)
        picture(app, NARROW)

    @SMALL_AND_WIDE
    def test_notices(self, demo: Path, open_browser: OpenBrowser, picture: Any, size: Size) -> None:
        """All that is wrong with configuration and store."""
        app = open_browser(demo, problems=MISTAKES)
        app._history.notices = ("The search index is damaged. `hermes-sessions doctor` says more.",)
        picture(app, size, "i")

    def test_too_small(self, demo: Path, open_browser: OpenBrowser, picture: Any) -> None:
        """No room for anything."""
        picture(open_browser(demo), (30, 8))


class TestSearching:
    @SIZES
    def test_it(self, demo: Path, open_browser: OpenBrowser, picture: Any, size: Size) -> None:
        """Hits with their snippets, opened at the first."""
        picture(open_browser(demo), size, "/", *"docker")

    def test_nothing_found(self, demo: Path, open_browser: OpenBrowser, picture: Any) -> None:
        """No hit."""
        picture(open_browser(demo), WIDE, "/", *"xyzzyx")

    def test_a_mistake(self, demo: Path, open_browser: OpenBrowser, picture: Any) -> None:
        """Where it is, and what would be right."""
        picture(open_browser(demo), WIDE, "/", *"docker sorce:cli after:yesterdy")

    def test_completing(self, demo: Path, open_browser: OpenBrowser, picture: Any) -> None:
        """Values of the store to choose from, in light colours."""
        picture(open_browser(demo, theme=LIGHT), NARROW, "/", *"source:", "tab")


class TestMessages:
    @pytest.mark.parametrize(("size", "theme"), [(WIDE, DARK), (WIDE, LIGHT), (SMALL, DARK)])
    def test_markdown(self, demo: Path, open_browser: OpenBrowser, picture: Any, size: Size, theme: str) -> None:
        """Headings, a table and code."""
        picture(open_browser(demo, "title:Rate", theme=theme), size, "enter", "g", *["z"] * (size is WIDE), "j")

    @pytest.mark.parametrize(("size", "theme"), [(WIDE, DARK), (NARROW, LIGHT)])
    def test_diff(self, demo: Path, open_browser: OpenBrowser, picture: Any, size: Size, theme: str) -> None:
        """A patch and other results, unfolded."""
        picture(open_browser(demo, "title:Worker", theme=theme), size, "enter", "t", "t", "g", "ctrl+d")

    def test_undone(self, demo: Path, open_browser: OpenBrowser, picture: Any) -> None:
        """What the person took back, among the rest."""
        picture(open_browser(demo, "title:CLI"), WIDE, "enter", "U")

    def test_reasoning(self, demo: Path, open_browser: OpenBrowser, picture: Any) -> None:
        """What the model thought, and tools at some length."""
        picture(open_browser(demo, "title:Rate"), NARROW, "enter", "T", "t", "g")

    @SIZES
    def test_it(self, demo: Path, open_browser: OpenBrowser, picture: Any, size: Size) -> None:
        """A conversation is open."""
        picture(open_browser(demo), size, "j", "j", "enter")

    @SIZES
    def test_finding(self, demo: Path, open_browser: OpenBrowser, snap_compare: Compare, size: Size) -> None:
        """Words looked for inside a conversation."""
        app = open_browser(demo)
        assert snap_compare(app, terminal_size=size, run_before=finding("enter", "/", *"fixture", "enter", "n"))

    def test_finding_beside_the_search(self, demo: Path, open_browser: OpenBrowser, snap_compare: Compare) -> None:
        """The places of a find look otherwise than those of the search; without colour by attributes alone."""
        app = open_browser(demo, "voucher", theme=PLAIN)
        assert snap_compare(app, terminal_size=WIDE, run_before=finding("enter", "/", *"fixture"))

    @SIZES
    def test_outline(self, demo: Path, open_browser: OpenBrowser, snap_compare: Compare, size: Size) -> None:
        """What the person asked, to go to."""

        async def drive(pilot: Pilot[BrowseResult]) -> None:
            await after("enter", "p")(pilot)
            listed = browser(pilot).query_one(PromptList)
            await until(pilot, lambda: len(listed._words) == len(listed.prompts))

        assert snap_compare(open_browser(demo), terminal_size=size, run_before=drive)

    def test_going_nowhere(self, demo: Path, open_browser: OpenBrowser, picture: Any) -> None:
        """A place that is none, said where it was typed."""
        picture(open_browser(demo), WIDE, "enter", ":", *"9999", "enter")


def finding(*keys: str) -> Callable[[Pilot[BrowseResult]], Awaitable[None]]:
    """Press keys that find something in the open conversation, and wait until all of it is found."""

    async def drive(pilot: Pilot[BrowseResult]) -> None:
        await after(*keys)(pilot)
        view = browser(pilot).messages.view
        await until(pilot, lambda: view.hits.finder.complete and view.hits.finder.hit is not None)

    return drive


class TestScripts:
    """Signs that are wide, joined, empty or run from right to left: every edge stays straight."""

    @SMALL_AND_WIDE
    def test_rows(self, scripts: Path, open_browser: OpenBrowser, picture: Any, size: Size) -> None:
        """As titles and previews."""
        picture(open_browser(scripts), size, "D")

    @SMALL_AND_WIDE
    def test_messages(self, scripts: Path, open_browser: OpenBrowser, picture: Any, size: Size) -> None:
        """As text, table and code."""
        picture(open_browser(scripts), size, "enter", "g")


class TestAscii:
    """Where a terminal may show nothing else."""

    def test_it(self, demo: Path, open_browser: OpenBrowser, picture: Any) -> None:
        """Frames, signs and bars."""
        picture(open_browser(demo, "title:Rate", settings=Settings(borders="ascii")), WIDE, "enter", "g")

    def test_family(self, demo: Path, open_browser: OpenBrowser, snap_compare: Compare) -> None:
        """The tree and its dialog."""
        app = open_browser(demo, settings=Settings(borders="ascii"))
        assert snap_compare(app, terminal_size=NARROW, run_before=family_of(24))


class TestCost:
    @SIZES
    def test_days(self, demo: Path, open_browser: OpenBrowser, picture: Any, size: Size) -> None:
        """Enlarged, by day."""
        picture(open_browser(demo), size, "c")

    def test_models(self, demo: Path, open_browser: OpenBrowser, picture: Any) -> None:
        """Enlarged, by model."""
        picture(open_browser(demo), WIDE, "c", "left", "left")


class TestDialogs:
    @pytest.mark.parametrize("size", [WIDE, SMALL], ids=lambda size: f"{size[0]}x{size[1]}")
    def test_help(self, demo: Path, open_browser: OpenBrowser, picture: Any, size: Size) -> None:
        """All keys."""
        picture(open_browser(demo), size, "?")

    def test_copy(self, demo: Path, open_browser: OpenBrowser, picture: Any) -> None:
        """What can be copied."""
        picture(open_browser(demo), WIDE, "y")

    @SMALL_AND_WIDE
    def test_copy_code(self, demo: Path, open_browser: OpenBrowser, picture: Any, size: Size) -> None:
        """A message with code in it."""
        picture(open_browser(demo, "title:orders"), size, "enter", "y")

    @pytest.mark.parametrize(("size", "theme"), [(WIDE, DARK), (SMALL, LIGHT)])
    def test_themes(self, demo: Path, open_browser: OpenBrowser, snap_compare: Compare, size: Size, theme: str) -> None:
        """Every theme there is; the one under the cursor is shown."""
        app = open_browser(demo, theme=theme)

        async def drive(pilot: Pilot[BrowseResult]) -> None:
            await settle(pilot)
            app.action_change_theme()
            await pilot.pause()
            await pilot.press("down")
            await until(pilot, lambda: app.theme != theme)
            await after()(pilot)

        assert snap_compare(app, terminal_size=size, run_before=drive)

    def test_help_light(self, demo: Path, open_browser: OpenBrowser, picture: Any) -> None:
        """What was typed chooses among it."""
        picture(open_browser(demo, theme=LIGHT), NARROW, "?", *"page")

    def test_cannot_resume(self, demo: Path, open_browser: OpenBrowser, picture: Any) -> None:
        """Hermes is not here."""
        picture(open_browser(demo, hermes=False), WIDE, "R")

    def test_palette(self, demo: Path, open_browser: OpenBrowser, snap_compare: Compare) -> None:
        """Commands by name."""

        async def drive(pilot: Pilot[BrowseResult]) -> None:
            await settle(pilot)
            await pilot.press("ctrl+p")
            await pilot.press(*"re")
            await until(pilot, lambda: pilot.app.screen.query("OptionList").first().display)

        assert snap_compare(open_browser(demo, theme=DARK), terminal_size=WIDE, run_before=drive)


def family_of(row: int) -> Callable[[Pilot[BrowseResult]], Awaitable[None]]:
    """Show the family of the conversation in a row, once all of it is known."""

    async def drive(pilot: Pilot[BrowseResult]) -> None:
        await after(*["j"] * row, "l")(pilot)
        await until(pilot, lambda: pilot.app.screen.query_one(LineageTree).settled)

    return drive


class TestList:
    @SIZES
    def test_days(self, demo: Path, open_browser: OpenBrowser, picture: Any, size: Size) -> None:
        """Grouped by day, two of them marked."""
        picture(open_browser(demo), size, "b", "space", "space")

    def test_directories_without_colour(self, demo: Path, open_browser: OpenBrowser, picture: Any) -> None:
        """Grouped by directory, marked and unfolded by attributes and signs alone."""
        picture(open_browser(demo, theme=PLAIN), WIDE, "b", "b", "space", "space", "G")

    @SIZES
    def test_two_lines(self, demo: Path, open_browser: OpenBrowser, picture: Any, size: Size) -> None:
        """What began it, where, and by which model."""
        picture(open_browser(demo), size, "D", "j")

    def test_all_columns(self, demo: Path, open_browser: OpenBrowser, picture: Any) -> None:
        """Room for directories and models."""
        picture(open_browser(demo), WIDE, "z")

    @SIZES
    def test_subagents(self, demo: Path, open_browser: OpenBrowser, picture: Any, size: Size) -> None:
        """Unfolded below what started them, and marked."""
        picture(open_browser(demo), size, *["j"] * 24, "right", "j", "space", "space")

    @SIZES
    def test_sort_menu(self, demo: Path, open_browser: OpenBrowser, picture: Any, size: Size) -> None:
        """Every order with its key."""
        picture(open_browser(demo), size, "s")

    def test_tokens(self, demo: Path, open_browser: OpenBrowser, picture: Any) -> None:
        """What decides the order is what is shown."""
        picture(open_browser(demo, theme=LIGHT), NARROW, "s", "t")

    @SIZES
    def test_family(self, demo: Path, open_browser: OpenBrowser, snap_compare: Compare, size: Size) -> None:
        """What a conversation started."""
        assert snap_compare(open_browser(demo), terminal_size=size, run_before=family_of(24))

    def test_family_of_parts(self, demo: Path, open_browser: OpenBrowser, snap_compare: Compare) -> None:
        """A conversation that was compressed twice."""
        assert snap_compare(open_browser(demo, theme=LIGHT), terminal_size=WIDE, run_before=family_of(12))

    def test_here(self, demo: Path, open_browser: OpenBrowser, picture: Any) -> None:
        """Only what belongs to a directory."""
        picture(open_browser(demo, directory="/home/mara/src/storefront"), NARROW, ".")
