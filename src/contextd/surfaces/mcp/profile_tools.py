"""Tools for the profile of the user."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contextd.text.invisible import visible_line

if TYPE_CHECKING:
    from contextd.surfaces.mcp.tools import ToolCall
    from contextd.surfaces.wire.requests import ProfileTool, SetProfileTool


def get_profile(call: ToolCall, asked: ProfileTool) -> str:
    """Return the profile, one key on each line."""
    from contextd.app.profiles import profile_service

    entries = profile_service(call.session).get().entries()
    lines = [f"{visible_line(key)}: {visible_line(_text(value))}" for key, value in entries.items()]
    return "\n".join(lines) or "The profile is empty."


def set_profile(call: ToolCall, asked: SetProfileTool) -> str:
    """Set or remove a key, and name the facts that contradict it."""
    from contextd.app.profiles import profile_service

    service = profile_service(call.session)
    if not asked.values:
        service.unset(asked.key)
        return f"Removed {visible_line(asked.key)}."
    facts = service.set(asked.key, asked.values)
    lines = [f"This fact says otherwise: [{one.id[:8]}] {visible_line(one.text)}" for one in facts]
    return "\n".join([f"Set {visible_line(asked.key)}.", *lines])


def _text(value: str | tuple[str, ...]) -> str:
    return value if isinstance(value, str) else "; ".join(value)
