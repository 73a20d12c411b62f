"""The profile of a person: who they are, and how they want to be answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

TEXTS = ("identity", "communication", "expertise")  # sections of texts by name, such as communication.tone
LISTS = ("interests", "opinions", "preferences")  # sections that are lists of texts
SECTIONS = (*TEXTS[:2], "interests", "expertise", "opinions", "preferences")


@dataclass(frozen=True, slots=True)
class Profile:
    """All sections. An empty profile is a profile."""

    identity: Mapping[str, str] = field(default_factory=dict)
    communication: Mapping[str, str] = field(default_factory=dict)
    interests: tuple[str, ...] = ()
    expertise: Mapping[str, str] = field(default_factory=dict)  # level by area
    opinions: tuple[str, ...] = ()
    preferences: tuple[str, ...] = ()

    def entries(self) -> dict[str, str | tuple[str, ...]]:
        """Return every value by its dotted key."""
        found: dict[str, str | tuple[str, ...]] = {}
        for section in SECTIONS:
            held = getattr(self, section)
            if section in LISTS:
                found |= {section: held} if held else {}
            else:
                found |= {f"{section}.{name}": value for name, value in held.items()}
        return found


def profile_of(entries: Mapping[str, str | tuple[str, ...]]) -> Profile:
    """Return the profile with these values by dotted key."""
    parts: dict[str, Any] = {section: {} for section in TEXTS}
    for key, value in entries.items():
        section, _, name = key.partition(".")
        if isinstance(value, str):
            parts[section][name] = value
        else:
            parts[section] = value
    return Profile(**parts)
