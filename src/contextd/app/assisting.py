"""The language model of a session, with the steps that may ask it, and what must not be sent to one on another machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from contextd.app.consent import may_leave
from contextd.querying.assisted.ask import COMPRESSION, INTENT, RERANKING, Assistant

if TYPE_CHECKING:
    from contextd.app.session import Session
    from contextd.ports.engines import Chat
    from contextd.settings.defaults import LanguageModel, Settings


def assistant_of(session: Session, texts: Sequence[str]) -> Assistant | None:
    """Return the model for a query with these texts (question and history); None if no step asks one."""
    from contextd.app.profiles import profile_service

    seconds = seconds_of(session.settings.llm)
    chat = session.setup.chat() if seconds else None
    if chat is None:
        return None
    topics = [topic.name for topic in session.memories.topics()] if INTENT in seconds else []
    return Assistant(
        chat,
        seconds,
        session.settings.llm.reranking_threshold,
        profile_service(session).summary,
        topics,
        held_back(session, chat, texts),
        session.home.replies,
    )


def seconds_of(settings: LanguageModel) -> dict[str, float]:
    """Return the seconds of each step that is on."""
    every = {
        INTENT: (settings.intent, settings.intent_seconds),
        RERANKING: (settings.reranking, settings.reranking_seconds),
        COMPRESSION: (settings.compression, settings.compression_seconds),
    }
    return {step: seconds for step, (on, seconds) in every.items() if on}


def held_back(session: Session, chat: Chat, texts: Sequence[str]) -> str:
    """Return why nothing of a query may go to a model; empty if it may. A model on this machine may get everything."""
    if not chat.remote:
        return ""
    from contextd.text.private_matters import is_private  # loaded on use: most models are on this machine

    if session.private:
        return "the model is on another machine, and private memories and folders may answer this query"
    if any(map(is_private, texts)):
        return "the model is on another machine, and the question is private"
    allowed = session.settings.privacy.remote_models
    projects = [*([session.project] if session.project is not None else []), *session.others]
    left = [one.name for one in projects if not may_leave(allowed, one.name, one.root)]
    left += [] if may_leave(allowed, "", None) else ["personal"]
    return f"the model is on another machine, and privacy.remote_models does not name {', '.join(left)}" if left else ""


def faults_of(settings: Settings) -> list[str]:
    """Return what is wrong with the settings of language models: steps without a model, deadlines that are too short."""
    llm, proxy = settings.llm, settings.proxy
    seconds = seconds_of(llm)
    on = [*seconds, *(["summary"] if llm.summary else [])]
    if llm.engine == "none":
        return [f"llm.{name} is on, but llm.engine is none: rules decide" for name in on]
    found = [] if llm.model or llm.engine == "openai" else ["llm.model is empty; name a model of the engine"]
    needed = sum(seconds.values()) + _RULES
    if seconds and proxy.deadline_ms / 1000 < needed:
        steps = ", ".join(f"llm.{step}_seconds = {one:g}" for step, one in seconds.items())
        found.append(
            f"proxy.deadline_ms = {proxy.deadline_ms} is too short for {steps}; a step that is late is left to the rules. "
            f"Set it to {needed * 1000:.0f}"
        )
    return found


_RULES = 0.8  # seconds for everything else
