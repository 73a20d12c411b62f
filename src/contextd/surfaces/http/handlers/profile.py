"""The profile of the caller."""

from __future__ import annotations

from contextd.app.profiles import profile_service
from contextd.surfaces.http.caller import Caller
from contextd.surfaces.wire.api_requests import InProject
from contextd.surfaces.wire.profile_api import ProfileAnswer, ProfileKeyRequest, ProfileSetRequest


def profile(caller: Caller, asked: InProject) -> ProfileAnswer:
    """Show the profile and its summary."""
    return ProfileAnswer.of(profile_service(caller.session(asked)))


def set_profile(caller: Caller, asked: ProfileSetRequest) -> ProfileAnswer:
    """Set one key."""
    service = profile_service(caller.session(asked))
    return ProfileAnswer.of(service, service.set(asked.key, asked.values))


def unset_profile(caller: Caller, asked: ProfileKeyRequest) -> ProfileAnswer:
    """Remove one key."""
    service = profile_service(caller.session(asked))
    service.unset(asked.key)
    return ProfileAnswer.of(service)
