"""The outline of a conversation: what the person asked, one line each, to go to by a few letters.

Lies over the messages while it is open. The times are known at once; the words come from the store, batch by batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import ClassVar, NamedTuple

from rich.segment import Segment
from textual import events, on, work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.geometry import Size
from textual.message import Message as TextualMessage
from textual.strip import Strip
from textual.widgets import Input

from hermes_sessions.errors import SessionsError
from hermes_sessions.model import MessageStub
from hermes_sessions.services import wording
from hermes_sessions.text import cell_width, one_line, pad, steady
from hermes_sessions.tui.ask_line import AskLine
from hermes_sessions.tui.failed import Failed
from hermes_sessions.tui.looks import Looks
from hermes_sessions.tui.matcher import Matcher
from hermes_sessions.tui.paged_view import PagedView
from hermes_sessions.tui.reading import Load

BATCH = 128
KEPT_CHARACTERS = 400
"""How much of a prompt is shown and filtered by."""

HERE = "▸"

_LOOKS = {
    "": "",
    "time": "$muted",
    "count": "$muted",
    "found": "$link",
    "here": "$role-user bold",
    "cursor": "$cursor-style on $cursor",
    "match": "$hit-text $hit-style on $hit",
}


class Prompt(NamedTuple):
    """A message of the person, and the turn that it began."""

    message: int
    """The number of the message, from 0."""
    stub: MessageStub
    messages: int
    """How many messages the turn has."""
    hits: int
    """How many of the places that are known stand in it."""


def prompts_of(stubs: Sequence[MessageStub], hits_between: Callable[[int, int], int]) -> list[Prompt]:
    """Return the prompts of a conversation. `hits_between` counts places from a message to before another."""
    starts = [index for index, stub in enumerate(stubs) if stub.role == "user"]
    return [
        Prompt(start, stubs[start], stop - start, hits_between(start, stop))
        for start, stop in pairwise([*starts, len(stubs)])
    ]


def _month_day(when: float | None) -> str:
    return wording.moment(when)[5:] or wording.UNKNOWN


class Outline(Vertical):
    """The prompts, and the line that narrows them down."""

    DEFAULT_CSS = """
    Outline {
        layer: over; width: 100%; height: 100%; background: $background;
        PromptList { height: 1fr; background: $background; scrollbar-size-vertical: 1; overflow-x: hidden; }
    }
    """
    BINDINGS: ClassVar = [
        Binding("up,ctrl+p", "move('up')", "up"),
        Binding("down,ctrl+n", "move('down')", "down"),
        Binding("pageup", "move('page_up')", "page up"),
        Binding("pagedown", "move('page_down')", "page down"),
    ]

    class Chosen(TextualMessage):
        """The person wants to go to message number `index`."""

        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index

    def __init__(self, prompts: Sequence[Prompt], here: int, load: Load) -> None:
        super().__init__(classes="-outline")
        self.line = AskLine("outline", "type to narrow down, Enter goes there", id="outline")
        self.line.asking = True
        self.list = PromptList(prompts, here)
        self._load = load

    def compose(self) -> ComposeResult:
        yield self.line
        yield self.list

    def on_mount(self) -> None:
        self._say()
        self._read()

    def _say(self) -> None:
        left, all = len(self.list.left), len(self.list.prompts)
        self.line.say(wording.count(all) if left == all else f"{wording.count(left)} of {wording.count(all)}")

    def action_move(self, name: str) -> None:
        self.list.move(name)

    @on(Input.Changed, "#outline_text")
    def _narrow(self, event: Input.Changed) -> None:
        event.stop()
        self.list.narrow(event.value)
        self._say()

    @on(Input.Submitted, "#outline_text")
    def _choose(self, event: Input.Submitted) -> None:
        event.stop()
        if (prompt := self.list.chosen) is not None:
            self.post_message(self.Chosen(prompt.message))

    @work
    async def _read(self) -> None:
        """Get the words, those near the screen first."""
        prompts, here = self.list.prompts, self.list.here
        order = sorted(range(len(prompts)), key=lambda number: abs(number - here))
        try:
            for start in range(0, len(order), BATCH):
                batch = order[start : start + BATCH]
                found = await self._load([prompts[number].stub for number in batch])
                texts = {number: found[id].text for number in batch if (id := prompts[number].stub.id) in found}
                self.list.learn(texts)
                self._say()
        except SessionsError as error:
            self.post_message(Failed(error))


class PromptList(PagedView, can_focus=False):
    """Draws the prompts that are left."""

    def __init__(self, prompts: Sequence[Prompt], here: int) -> None:
        super().__init__()
        self.prompts = prompts
        self.here = max((number for number, prompt in enumerate(prompts) if prompt.message <= here), default=0)
        """The prompt in whose turn the person is."""
        self.cursor = self.here
        self.left: list[int] = list(range(len(prompts)))
        """The prompts that have the words, by their numbers."""
        self._wanted = self.here
        """The prompt that the person was at last, whether it is left or not."""
        self._words: dict[int, str] = {}
        self._matchers: list[Matcher] = []
        self._looks = Looks(self, _LOOKS)
        self._dated = len({wording.date(prompt.stub.timestamp) for prompt in (*prompts[:1], *prompts[-1:])}) > 1

    @property
    def chosen(self) -> Prompt | None:
        """The prompt under the cursor."""
        return self.prompts[self.left[self.cursor]] if self.left else None

    def move(self, name: str) -> None:
        """Move the cursor: up, down, page_up, page_down."""
        step = {"up": -1, "down": 1, "page_up": 1 - self.page, "page_down": self.page - 1}[name]
        self._go(max(0, min(self.cursor + step, len(self.left) - 1)))

    def narrow(self, words: str) -> None:
        """Leave the prompts that have all of the words; the cursor stays with its prompt, else goes to the nearest."""
        self._matchers = [Matcher([word]) for word in words.split()]
        self._leave(list(filter(self._fits, range(len(self.prompts)))))

    def learn(self, texts: Mapping[int, str]) -> None:
        """Take the texts of some prompts, by their numbers in the list."""
        for number, text in texts.items():
            self._words[number] = one_line(text[:KEPT_CHARACTERS])
        if self._matchers:
            self._leave(sorted({*self.left, *filter(self._fits, texts)}))
        self.refresh()

    def on_resize(self) -> None:
        self._show()

    def on_click(self, event: events.Click) -> None:
        row = event.y + self.scroll_offset.y
        if row < len(self.left):
            self.cursor = row
            self.post_message(Outline.Chosen(self.prompts[self.left[row]].message))

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._looks.forget()

    def render_line(self, y: int) -> Strip:
        width, row = self.scrollable_content_region.width, y + self.scroll_offset.y
        looks = self._looks
        if row >= len(self.left):
            words = "" if row else "  No prompt has these words." if self.prompts else "  Nobody asked anything here."
            return Strip([Segment(words, looks["time"])]).crop_extend(0, width, looks[""])
        number = self.left[row]
        prompt = self.prompts[number]
        ground = "cursor" if row == self.cursor else ""
        when = (_month_day if self._dated else wording.clock)(prompt.stub.timestamp)
        count = f" {wording.count(prompt.messages)}"
        hits = f" {wording.count(prompt.hits)}×" if prompt.hits else ""
        mark = f"{HERE if number == self.here else ' '} "
        room = width - len(mark) - len(when) - 1 - len(hits) - len(count) - 1
        words = pad(self._seen(steady(self._words.get(number, "…")), room), max(0, room))
        segments = [
            Segment(mark, looks[f"{ground} here"]),
            Segment(f"{when} ", looks[f"{ground} time"]),
            *self._marked(words, ground),
            Segment(hits, looks[f"{ground} found"]),
            Segment(f"{count} ", looks[f"{ground} count"]),
        ]
        return Strip(segments).crop_extend(0, width, looks[ground])

    def _go(self, row: int) -> None:
        self.cursor = row
        if self.left:
            self._wanted = self.left[row]
        self._show()

    def _leave(self, numbers: list[int]) -> None:
        self.left = numbers
        self.cursor = min(range(len(numbers)), key=lambda row: abs(numbers[row] - self._wanted), default=0)
        self._show()

    def _show(self) -> None:
        """Keep the cursor on the screen; with room on both sides where a new list begins."""
        self.virtual_size = Size(self.size.width, len(self.left))
        top, page = self.scroll_offset.y, self.page
        if not top <= self.cursor < top + page:
            self.scroll_to(y=self.cursor - page // 2, animate=False, force=True, immediate=True)
        self.refresh()

    def _fits(self, number: int) -> bool:
        words = self._words.get(number, "")
        return all(any(matcher.spans(words)) for matcher in self._matchers)

    def _seen(self, words: str, room: int) -> str:
        """The words from a little before the first match on, if it would not be seen otherwise."""
        starts = [start for matcher in self._matchers for start, _ in matcher.spans(words)]
        if not starts or cell_width(words[: min(starts)]) < room * 2 // 3:
            return words
        return f"… {words[max(0, min(starts) - room // 3) :]}"

    def _marked(self, words: str, ground: str) -> Iterator[Segment]:
        spans = sorted(span for matcher in self._matchers for span in matcher.spans(words))
        at = 0
        for start, stop in spans:
            if start >= at:
                yield Segment(words[at:start], self._looks[ground])
                yield Segment(words[start:stop], self._looks[f"{ground} match"])
                at = stop
        yield Segment(words[at:], self._looks[ground])
