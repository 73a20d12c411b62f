"""Requests and answers about the profile of a reader."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from contextd.surfaces.wire.answers import MemoryAnswer
from contextd.surfaces.wire.api_requests import InProject
from contextd.surfaces.wire.convert import about

if TYPE_CHECKING:
    from contextd.app.profiles import ProfileService
    from contextd.values.memory import Memory


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileKeyRequest(InProject):
    """A request about one key of the profile."""

    key: str = about("Its dotted key, such as communication.tone or interests.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileSetRequest(ProfileKeyRequest):
    """A new value of the profile."""

    values: tuple[str, ...] = about("The value; several for interests, opinions and preferences.")


@dataclass(frozen=True, slots=True)
class ProfileAnswer:
    """A profile. `contradicting` are facts that give another value for the key that was set."""

    profile: Mapping[str, Any]
    summary: str
    tokens: int
    contradicting: tuple[MemoryAnswer, ...] = ()

    @staticmethod
    def of(service: ProfileService, contradicting: list[Memory] | None = None) -> ProfileAnswer:
        """Return the profile of a reader as an answer."""
        summary = service.summary()
        facts = tuple(MemoryAnswer.of(one) for one in contradicting or ())
        return ProfileAnswer(service.get().entries(), summary, service.tokens.count(summary), facts)
