"""What each command does, in one short function each. Those that hand over are in `cli.handover`."""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from hermes_sessions import __version__, errors
from hermes_sessions.cli import cost_table, doctor, listing, records, repairing, transcript
from hermes_sessions.cli.exit_codes import ExitCode
from hermes_sessions.cli.opening import opened, other_profiles, store_path
from hermes_sessions.cli.output import PROGRAM, Output
from hermes_sessions.cli.parser import FILTER_NAMES, build_parser
from hermes_sessions.model import Catalog
from hermes_sessions.services import wording
from hermes_sessions.services.live import live_sessions

if TYPE_CHECKING:
    from hermes_sessions.storage import Store
    from hermes_sessions.storage.conditions import Condition
    from hermes_sessions.storage.query import SearchQuery

Command = Callable[[Namespace, Output, Mapping[str, str]], int]


def run(arguments: Namespace, output: Output, environ: Mapping[str, str]) -> int:
    """Run the command of a parsed command line and return its exit code. Raises the errors of the tree."""
    if arguments.version:
        return _version(arguments, output, environ)
    return COMMANDS[arguments.command](arguments, output, environ)


def _version(arguments: Namespace, output: Output, environ: Mapping[str, str]) -> ExitCode:
    output.line(f"{PROGRAM} {__version__}")
    output.line(f"store: {output.safe(str(store_path(arguments, environ)))}")
    return ExitCode.OK


def _list(arguments: Namespace, output: Output, environ: Mapping[str, str]) -> ExitCode:
    now = time.time()
    query = _query(arguments, now)
    with opened(arguments, output, environ) as store:
        catalog = store.sessions.catalog()
        if query is None:
            listed = listing.choose(catalog, everything=arguments.all)
        else:
            from hermes_sessions.services.answers import Answers

            fitting = Answers(store, time.time).conversations(query, catalog)
            wanted = [state for state in listing.HIDDEN if query.asks_for(state)]
            listed = listing.choose(catalog, fitting, wanted, everything=arguments.all)
        ordered = listing.sort(store, listed.conversations, arguments.sort)
        end = arguments.offset + arguments.limit if arguments.limit else None
        page = ordered[arguments.offset : end]
        overviews = store.sessions.overviews(page, live_sessions(store, now))
        if output.as_json:
            sessions = [records.session_record(item, overviews[item.id]) for item in page]
            paged = len(ordered) - len(page)
            output.json(records.list_record(store.path, listed.total, listed.hidden, paged, sessions))
            return ExitCode.OK
        if page:
            listing.print_rows(output, page, overviews, now)
        elif query is not None:
            _say_unknown(query.text, store, catalog, output)
        output.talk(listing.sum_line(len(page), listed, f"--offset {end}" if end and page else "", "--all"))
        output.talk(f"Store: {store.path}")
        if not catalog.conversations and (others := other_profiles(arguments, environ, store.path)):
            output.talk(others)
    return ExitCode.OK


def _search(arguments: Namespace, output: Output, environ: Mapping[str, str]) -> ExitCode:
    from hermes_sessions.services.answers import Answers, understood
    from hermes_sessions.storage.query import SearchQuery

    now = time.time()
    query: SearchQuery | None
    lead, _, rest = arguments.query.partition(" ")
    asked = understood(rest, now) if lead == "-" else None
    if pasted := asked is not None and not asked.clauses and not asked.excluded:
        text = sys.stdin.buffer.read().decode("utf-8", "replace") if sys.stdin else ""
        query = SearchQuery(text, conditions=(*asked.conditions, *_conditions(arguments, now)))
    else:
        query = _query(arguments, now)
    if query is None or (not query.text.strip() if pasted else query.empty):
        raise errors.UsageError("There is nothing to search for.", f"{PROGRAM} list shows everything.")
    with opened(arguments, output, environ) as store:
        answers = Answers(store, time.time)
        catalog = store.sessions.catalog()
        page = {"limit": arguments.limit, "offset": arguments.offset}
        if pasted:
            result = answers.run_pasted(query, catalog, **page)
        else:
            result = answers.run(query, catalog, order=arguments.order, **page)
        conversations = [found.conversation for found in result.conversations]
        overviews = store.sessions.overviews(conversations, live_sessions(store, now))
        if output.as_json:
            output.json(records.search_record(store.path, result, overviews))
        else:
            if conversations:
                hits = {found.conversation.id: found for found in result.conversations}
                listing.print_rows(output, conversations, overviews, now, hits=hits)
            elif not pasted:
                _say_unknown(query.text, store, catalog, output)
            if result.notice:
                output.talk(result.notice)
            what = "the text" if pasted else f"“{result.query}”"
            more = "" if result.complete else f"; there may be more (--offset {arguments.offset + len(conversations)})"
            output.talk(f"{listing.sessions(len(conversations))} found for {what}{more}")
            output.talk(f"Store: {store.path}")
    return ExitCode.OK if conversations else ExitCode.NO_MATCH


def _say_unknown(text: str, store: Store, catalog: Catalog, output: Output) -> None:
    """What the query names that is nowhere, which may be why nothing was found."""
    from hermes_sessions.services.completion import unknown_values, vocabulary_of

    for _, _, message, suggestion in unknown_values(text, vocabulary_of(store, catalog)):
        output.talk(f"{message} Did you mean {suggestion!r}?" if suggestion else message)


def _query(arguments: Namespace, now: float) -> SearchQuery | None:
    """What the words of a command line and its filters ask for, None for nothing: most lists wait for no language.

    Raises BadQuery and BadFilter.
    """
    flags = _conditions(arguments, now)
    if not flags and not arguments.query.strip():
        return None
    from hermes_sessions.services.answers import understood

    query = understood(arguments.query, now)
    return query._replace(conditions=(*query.conditions, *flags))


def _conditions(arguments: Namespace, now: float) -> tuple[Condition, ...]:
    """What the filters of a command line ask for. Raises BadFilter."""
    if not any(getattr(arguments, name) not in (None, False) for name in FILTER_NAMES):
        return ()
    from hermes_sessions.services.filters import from_flags

    return from_flags(vars(arguments), now)


def _show(arguments: Namespace, output: Output, environ: Mapping[str, str]) -> ExitCode:
    from hermes_sessions.services.lookup import find

    with opened(arguments, output, environ) as store:
        conversation = find(store, " ".join(arguments.session))
        overview = store.sessions.overviews([conversation], live_sessions(store, time.time()))[conversation.id]
        outline = store.messages.outline(conversation, rewound=arguments.rewound)
        if arguments.tools == "off":
            outline = tuple(stub for stub in outline if stub.role != "tool")
        around = arguments.around
        if around is not None and (original := store.messages.copies(conversation).get(around)) is not None:
            around = original.id
        part = transcript.part_of(outline, around=around, limit=arguments.limit)
        messages = transcript.messages(store, part.stubs)
        if output.as_json:
            head = records.show_record(
                store.path, records.session_record(conversation, overview), part.total, part.offset
            )
            tools = arguments.tools != "off"
            output.json_with(head, "messages", (records.message_record(message, tools=tools) for message in messages))
            return ExitCode.OK
        transcript.print_head(output, conversation, overview)
        transcript.print_messages(output, messages, tools=arguments.tools, reasoning=arguments.reasoning, marked=around)
        output.talk(transcript.sum_line(part))
        output.talk(f"Store: {store.path}")
    return ExitCode.OK


def _cost(arguments: Namespace, output: Output, environ: Mapping[str, str]) -> ExitCode:
    now = time.time()
    since, until = (_moment(words, now) for words in (arguments.since, arguments.until))
    conditions = _conditions(arguments, now)
    with opened(arguments, output, environ) as store:
        ids = None
        if conditions:
            from hermes_sessions.services.answers import Answers

            found = Answers(store, time.time).fitting(conditions, store.sessions.catalog().conversations)
            ids = [session.id for conversation in found for session in conversation.sessions]
        summary = store.costs.summary(arguments.by, ids, since, until)
        if output.as_json:
            output.json(records.cost_record(store.path, summary))
        else:
            cost_table.print_summary(output, summary)
            if arguments.by in ("day", "week", "month"):
                output.talk(f"Days are those of {wording.zone(now)}.")
            output.talk(f"Store: {store.path}")
    return ExitCode.OK


def _moment(words: str | None, now: float) -> float | None:
    if words is None:
        return None
    from hermes_sessions.storage.moments import parse_moment

    return parse_moment(words, now)


def _completion(arguments: Namespace, output: Output, environ: Mapping[str, str]) -> ExitCode:
    import shtab

    output.line(shtab.complete(build_parser(), arguments.shell))
    return ExitCode.OK


COMMANDS: Mapping[str, Command] = {
    "list": _list,
    "search": _search,
    "show": _show,
    "cost": _cost,
    "doctor": doctor.doctor,
    "repair": repairing.repair,
    "completion": _completion,
}
