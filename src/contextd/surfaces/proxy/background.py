"""Recognize requests that a program makes for itself: titles, tags, follow-up questions, search queries, summaries of a chat.

Such requests carry the chat as text and ask for a label of it. Context would only cost tokens.
"""

from __future__ import annotations

import re

from contextd.surfaces.proxy.messages import PromptRequest

_LABEL = (
    r"(?:titles?|tags?|follow[- ]?ups?|(?:next|suggested|suggestion)s? (?:questions?|prompts?|replies)|names?|headings?|emojis?|topics?|labels?"
    r"|search (?:queries|query|terms)|quer(?:y|ies)|summar(?:y|ies)|keywords?|categor(?:y|ies)|subject lines?|slugs?|branch names?|auto-?complet\w+)"
)
_MAKE = r"(?:generat\w*|creat\w*|writ\w+|suggest\w*|provid\w*|produc\w*|giv\w+|propos\w*|come up with|return|respond with|output|summari[sz]\w*|nam\w+|extract\w*|analy[sz]\w+|determin\w+|classify\w*|condens\w+|predict\w*)"
_TALK = r"(?:conversations?|chats?|dialog(?:ue)?s?|discussions?|messages?|threads?|sessions?|transcripts?|histor(?:y|ies)|exchanges?|quer(?:y|ies)|prompts?|interactions?)"
_WORDS = r"(?:\W+\w+){0,14}?\W+"
_ASKS = re.compile(rf"\b{_MAKE}\b{_WORDS}{_LABEL}\b(?:{_WORDS}{_TALK}\b)?", re.IGNORECASE)
_OF_A_CHAT = re.compile(
    rf"\b{_MAKE}\b{_WORDS}(?:{_LABEL}\b{_WORDS}{_TALK}|{_TALK}\b{_WORDS}{_LABEL})\b|\b{_TALK}\b{_WORDS}{_MAKE}\b{_WORDS}{_LABEL}\b"
    r"|\btitle (?:generator|generation)\b|\b(?:conversation|chat|thread|session) (?:titles?|names?|summar\w+|tags?)\b"
    r"|\bnew (?:conversation )?topic\b|会话|对话|標題|标题|タイトル|会話",
    re.IGNORECASE,
)
_TASK = re.compile(r"\s*#{2,3} ?task\b", re.IGNORECASE)
_CARRIED = re.compile(  # the chat as text
    r"<(?:chat_history|conversation|messages|transcript|chat|history|dialog\w*)\b|^#+ ?chat history|(?m:^[ \t]*(?:user|human|assistant|ai|system)[ \t]*:)"
    r"|\bchat history\b|\"role\"\s*:",
    re.IGNORECASE,
)
_TERSE = re.compile(
    r"\b(?:\d+|three|four|five|six|seven|eight|ten)(?:\s*(?:-|\u2013|to|or)\s*(?:\d+|five|six|seven|eight|ten))?[- ]?(?:words?|characters?|chars)\b"
    r"|\b(?:only|just) (?:the |a |return |respond |output |reply )|\bno (?:quotes|quotation|punctuation|explanation|preamble|markdown)"
    r"|\bwithout (?:quotes|quotation|punctuation|any)|\bjson\b|\bconcise\b|\bnothing else\b",
    re.IGNORECASE,
)
_SHORT = 120  # tokens of an answer that is a label
_LONGEST = 6000  # characters that are looked at, from both ends


def is_background(request: PromptRequest) -> bool:
    """Return whether a program asks for itself, not for its user."""
    if request.has_tools:
        return False
    question, system = _ends(request.question), _ends(request.system)
    if _TASK.match(question):
        return True
    if system and _OF_A_CHAT.search(system) and _TERSE.search(system) and len(system) < _LONGEST:
        return True
    if not _OF_A_CHAT.search(question):
        return bool(_ASKS.search(system)) and bool(_CARRIED.search(question)) and bool(_TERSE.search(system))
    signs = (
        bool(_CARRIED.search(question)),
        request.max_tokens is not None and request.max_tokens <= _SHORT,
        bool(_TERSE.search(question)),
    )
    return sum(signs) >= 2 or (bool(request.history) and signs[2])


def _ends(text: str) -> str:
    """Return a text, or the beginning and the end of a long one: instructions stand there."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]}\n{text[-_LONGEST // 2 :]}"
