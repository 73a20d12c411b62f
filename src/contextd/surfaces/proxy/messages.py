"""Read a request of the chat or the responses API, and put a block into it. All other bytes of its text stay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from contextd.errors import InvalidInput
from contextd.querying.compose import has_block
from contextd.text.json_spans import JsonSpan, TextEdit, elements, inside, members, parsed

SYSTEM = ("system", "developer")
_TEXT_PARTS = ("text", "input_text", "output_text")
_HISTORY = 6  # messages before the last one of the user
_SAID = 32_000  # characters of earlier messages of the user that may make a request private
_LONG = 4000  # characters of a message of the history


class Turn(NamedTuple):
    """A message: who said it, and its content with its place."""

    role: str
    content: JsonSpan

    @property
    def text(self) -> str:
        """The text of the content; images and other parts are left out."""
        value = self.content.value
        if isinstance(value, str):
            return value
        return "\n".join(part["text"] for part in value if _is_text(part))


@dataclass(frozen=True, slots=True)
class PromptRequest:
    """A request that may be enriched. Made by `read`."""

    text: str
    whole: JsonSpan
    model: JsonSpan | None
    turns: Sequence[Turn]
    instructions: JsonSpan | None  # of the responses API
    is_responses: bool
    max_tokens: int | None
    has_tools: bool

    @property
    def asked(self) -> Turn | None:
        """The last message of the user."""
        return next((turn for turn in reversed(self.turns) if turn.role == "user"), None)

    @property
    def question(self) -> str:
        """The text of the last message of the user; empty if there is none."""
        return self.asked.text.strip() if self.asked is not None else ""

    @property
    def history(self) -> tuple[str, ...]:
        """The texts of the messages before the last one of the user, oldest first."""
        before = [turn for turn in self.turns if self.asked and turn.content.start < self.asked.content.start]
        return tuple(turn.text[:_LONG] for turn in before if turn.role in ("user", "assistant"))[-_HISTORY:]

    @property
    def said(self) -> str:
        """What the user said before the last message, newest first, as far back as is looked at."""
        parts, room = list[str](), _SAID
        for turn in reversed(self.turns):
            if room > 0 and turn.role == "user" and self.asked and turn.content.start < self.asked.content.start:
                parts.append(turn.text[:room])
                room -= len(parts[-1])
        return "\n\n".join(parts)

    @property
    def system(self) -> str:
        """The texts of the system prompt."""
        given = [str(self.instructions.value)] if self.instructions is not None else []
        return "\n".join([*given, *(turn.text for turn in self.turns if turn.role in SYSTEM)])

    @property
    def has_block(self) -> bool:
        """Whether another proxy has put a block into it."""
        return has_block(self.question) or has_block(self.system)

    def with_block(self, block: str, position: str) -> TextEdit | None:
        """Return the edit that puts a block into the request: end_of_user, end_of_system or start_of_system."""
        if position == "end_of_user":
            return _joined(self.asked.content, block, self.is_responses, end=True) if self.asked is not None else None
        end, first = position == "end_of_system", next((turn for turn in self.turns if turn.role in SYSTEM), None)
        if self.instructions is not None:
            return _joined(self.instructions, block, self.is_responses, end=end)
        if first is not None:
            return _joined(first.content, block, self.is_responses, end=end)
        return self._new_system(block)

    def _new_system(self, block: str) -> TextEdit:
        if self.is_responses:
            return _inserted(self.whole.start + 1, f'"instructions":"{inside(block)}",')
        messages = members(self.text, self.whole)["messages"]
        return _inserted(messages.start + 1, f'{{"role":"system","content":"{inside(block)}"}},')


def read(text: str, *, is_responses: bool) -> PromptRequest:
    """Return the request of a body. Raises InvalidInput if it is not JSON, or its messages have wrong types."""
    try:
        whole = parsed(text)
    except ValueError as error:
        raise InvalidInput(f"the body is not valid JSON: {error}") from None
    if not isinstance(whole.value, dict):
        raise InvalidInput("the body must be a JSON object")
    top = members(text, whole)
    turns = _input(text, top.get("input")) if is_responses else _messages(text, top.get("messages"))
    model, instructions = top.get("model"), top.get("instructions")
    most = next((top[name].value for name in _LIMITS if name in top), None)
    return PromptRequest(
        text,
        whole,
        model if model is not None and isinstance(model.value, str) else None,
        turns,
        instructions if is_responses and instructions is not None and isinstance(instructions.value, str) else None,
        is_responses,
        most if isinstance(most, int) else None,
        bool(whole.value.get("tools") or whole.value.get("functions")),
    )


_LIMITS = ("max_completion_tokens", "max_tokens", "max_output_tokens")


def _messages(text: str, span: JsonSpan | None) -> list[Turn]:
    if span is None or not isinstance(span.value, list):
        raise InvalidInput("messages must be a list")
    return [turn for one in elements(text, span) for turn in _turn(text, one)]


def _input(text: str, span: JsonSpan | None) -> list[Turn]:
    if span is not None and isinstance(span.value, str):
        return [Turn("user", span)]
    if span is None or not isinstance(span.value, list):
        return []  # such as a request that refers to a stored prompt
    return [turn for one in elements(text, span) for turn in _turn(text, one)]


def _turn(text: str, span: JsonSpan) -> list[Turn]:
    """Return the message of an entry; none for entries without text, such as calls of tools."""
    if not isinstance(span.value, dict):
        raise InvalidInput("every message must be an object")
    role, content = span.value.get("role"), span.value.get("content")
    if not isinstance(role, str) or not isinstance(content, str | list):
        return []
    return [Turn(role, members(text, span)["content"])]


def _is_text(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") in _TEXT_PARTS and isinstance(part.get("text"), str)


def _joined(content: JsonSpan, block: str, is_responses: bool, *, end: bool) -> TextEdit:
    """Return the edit that adds a block to a content: inside its string, or as one more part of its list."""
    if isinstance(content.value, str):
        gap = "\n\n" if content.value else ""
        return _inserted(content.end - 1, inside(gap + block)) if end else _inserted(content.start + 1, inside(block + gap))
    part = f'{{"type":"{"input_text" if is_responses else "text"}","text":"{inside(block)}"}}'
    if not content.value:
        return _inserted(content.start + 1, part)
    return _inserted(content.end - 1, f",{part}") if end else _inserted(content.start + 1, f"{part},")


def _inserted(at: int, text: str) -> TextEdit:
    return TextEdit(at, at, text)
