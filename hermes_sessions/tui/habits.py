"""How the panes begin, and how the person left them: between the settings and the panes, which know no settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from hermes_sessions.services.settings import Settings

if TYPE_CHECKING:
    from hermes_sessions.tui.listing import GroupBy
    from hermes_sessions.tui.live_search import LiveSearch
    from hermes_sessions.tui.message_layout import Tools
    from hermes_sessions.tui.panes import Panes

NO_GROUP, ROOMY, COMPACT = "none", "roomy", "compact"


def begin(panes: Panes, search: LiveSearch, settings: Settings) -> None:
    """Have the panes begin as the settings say. For use before anything is listed."""
    group = "" if settings.group == NO_GROUP else settings.group
    panes.sessions.listing = panes.sessions.listing._replace(
        sort=settings.sort,
        reverse=settings.reverse,
        group=cast("GroupBy", group),
        two_lines=settings.density == ROOMY,
    )
    panes.messages.first_look = (cast("Tools", settings.tools), settings.reasoning, settings.wrap)
    panes.set_class(not settings.show_costs, "-no-costs")
    panes.zoomed = settings.zoom
    panes.list_width = settings.list_width
    search.order = "relevance" if settings.order == "relevance" else "recent"


def left(panes: Panes, search: LiveSearch) -> Mapping[str, str | int]:
    """Return the settings that would bring about what is on the screen now."""
    listing = panes.sessions.listing
    tools, reasoning, wrap = panes.messages.look
    return {
        "sort": listing.sort,
        "reverse": listing.reverse,
        "group": listing.group or NO_GROUP,
        "density": ROOMY if listing.two_lines else COMPACT,
        "order": search.order,
        "tools": tools,
        "reasoning": reasoning,
        "wrap": wrap,
        "zoom": panes.zoomed,
        "list_width": panes.list_width,
    }
