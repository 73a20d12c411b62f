"""Recognize requests that a program makes for itself: titles, tags, follow-up questions, search queries, summaries of a chat.

Such requests carry the chat as text and ask for a label of it, for a query, or for a summary that replaces it; or they ask for
the text in a gap of a file. Context would only cost tokens. Rules know English and German, and a little French and Spanish.
"""

from __future__ import annotations

import re
from typing import Any

from contextd.surfaces.proxy.messages import SYSTEM, PromptRequest

_LABEL = (
    r"(?:titles?|tags?|follow[- ]?ups?|(?:next|suggested|suggestion)s? (?:questions?|prompts?|replies)|names?|headings?|emojis?|topics?|labels?"
    r"|search (?:queries|query|terms)|quer(?:y|ies)|summar(?:y|ies)|keywords?|categor(?:y|ies)|subject lines?|slugs?|branch names?|auto-?complet\w+"
    r"|titels?|schlagw[öo]rt\w*|zusammenfassung|folgefragen|suchbegriffe?|suchanfragen?|titre|[ée]tiquettes|r[ée]sum[ée]|questions de suivi|t[íi]tulo|etiquetas|resumen|preguntas de seguimiento)"
)
_MAKE = (
    r"(?:generat\w*|creat\w*|writ\w+|suggest\w*|provid\w*|produc\w*|giv\w+|propos\w*|come up with|return|respond with|output|summari[sz]\w*|nam\w+|extract\w*|analy[sz]\w+|determin\w+|classify\w*|condens\w+|predict\w*"
    r"|erstell\w*|generier\w*|schreib\w*|formulier\w*|nenne|gib|schlag\w*|g[ée]n[èe]r\w+|cr[ée]e\w*|r[ée]dige\w*|genera|crea|escrib\w+)"
)
_TALK = (
    r"(?:conversations?|chats?|dialog(?:ue)?s?|discussions?|messages?|threads?|sessions?|transcripts?|histor(?:y|ies)|exchanges?|quer(?:y|ies)|prompts?|interactions?"
    r"|unterhaltung\w*|gespr[äa]ch\w*|verlauf\w*|nachrichten|[ée]change|conversaci[óo]n|charla|di[áa]logo)"
)
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
    r"\b(?:\d+|three|four|five|six|seven|eight|ten)(?:\s*(?:-|\u2013|to|or|bis)\s*(?:\d+|five|six|seven|eight|ten))?[- ]?(?:words?|characters?|chars|w[öo]rter\w*|zeichen|mots|palabras)\b"
    r"|\b(?:only|just) (?:the |a |return |respond |output |reply )|\bno (?:quotes|quotation|punctuation|explanation|preamble|markdown|other words)"
    r"|\bwithout (?:quotes|quotation|punctuation|any)|\bjson\b|\bconcise\b|\bnothing else\b"
    r"|\bnur (?:den|die|das|mit)\b|\bohne anf[üu]hrungszeichen|\b(?:seulement|uniquement) (?:le|la)\b|\bsans guillemets|\bsolo (?:el|la)\b|\bsin comillas",
    re.IGNORECASE,
)
_GAP = re.compile(
    r"<\|?fim[_-]|<\|(?:cursor|prefix|suffix|middle)\|>|\{\{\s*FILL_?\w*\s*\}\}|<COMPLETION\s*/?>|<PRE>[^\x00]{0,4000}<SUF>|\[(?:GAP|HOLE|CURSOR)\]"
)
_QUERY = re.compile(  # "rewrite the question as a query that stands by itself"
    rf"\b(?:rephras|rewrit|reformulat|turn|convert|transform|formulier|umformulier|schreib)\w*\b{_WORDS}(?:quer(?:y|ies)|questions?|keywords|suchanfragen?|fragen?)\b"
    r"(?=[\s\S]{0,400}\b(?:stand-?alone|self-contained|by itself|search|look\w* (?:it )?up|retriev\w+|eigenst[äa]ndig\w*|suche)\b)",
    re.IGNORECASE,
)
_CONDENSE = re.compile(
    r"\b(?:condens\w+|summari[sz]\w*|compress\w*|compact\w*|recap\w*|write up|sum up|boil\w* down|fass\w*|zusammenfass\w*|r[ée]sume\w*)\b"
    rf"{_WORDS}(?:{_TALK}|was said|has been said|so far|bisher\w*|gesagt\w*|jusqu'ici|hasta ahora)\b",
    re.IGNORECASE,
)
_FOR_LATER = re.compile(  # a summary that replaces the messages
    r"\b(?:later|future|next|subsequent|sp[äa]tere\w*) (?:prompts?|turns?|messages|context|sessions?|anfragen)\b|\b(?:replace|stand in for|instead of) (?:the |these |those |all )?(?:earlier |previous )?(?:messages|conversation|history|turns)\b"
    r"|\b(?:as|serve as|used as) (?:the )?(?:context|memory)\b|\bcontext (?:window|checkpoint|compaction)\b|\bhand-?off\b|\bcontinue (?:the|this|our) (?:conversation|work|task)\b",
    re.IGNORECASE,
)
_LISTED = re.compile(r"(?m)^[ \t]*(?:\d+[.)]|[-*\u2022]) ")
_FIELDS = frozenset(
    "title titles tags tag follow_ups followups questions queries query summary topics topic category emoji name keywords isnewtopic label".split()
)
_SHORT = 120  # tokens of an answer that is a label
_LONGEST = 6000  # characters that are looked at, from both ends


def is_background(request: PromptRequest) -> bool:
    """Return whether a program asks for itself, not for its user."""
    if request.has_tools:
        return False
    question, system = _ends(request.question), _ends(request.system)
    if _TASK.match(question) or _GAP.search(question) or _GAP.search(system):
        return True
    return (
        _asks_for_label(request, question, system) or _asks_for_query(question, system) or _condenses(request, question, system)
    )


def _asks_for_label(request: PromptRequest, question: str, system: str) -> bool:
    if system and _OF_A_CHAT.search(system) and len(system) < _LONGEST and (_TERSE.search(system) or _returns_label(request)):
        return True
    if not _OF_A_CHAT.search(question):
        return bool(_ASKS.search(system)) and bool(_CARRIED.search(question)) and bool(_TERSE.search(system))
    signs = (
        bool(_CARRIED.search(question)),
        request.max_tokens is not None and request.max_tokens <= _SHORT,
        bool(_TERSE.search(question)),
        _returns_label(request),
    )
    return sum(signs) >= 2 or (bool(request.history) and signs[2])


def _asks_for_query(question: str, system: str) -> bool:
    """Return whether the last question of a chat is to be made a query; the chat stands in the request as text."""
    return bool(_CARRIED.search(question)) and bool(_QUERY.search(question) or _QUERY.search(system))


def _condenses(request: PromptRequest, question: str, system: str) -> bool:
    """Return whether a summary of the chat is asked for by a prompt, not by a person: where it stands, or what it is for, tells."""
    last = _ends(request.turns[-1].text) if request.turns and request.turns[-1].role in SYSTEM else ""
    if last and len(request.turns) > 1 and _CONDENSE.search(last):
        return True
    if not _CONDENSE.search(question):
        return False
    is_template = len(_LISTED.findall(question)) >= 2 and bool(request.history)
    return (
        bool(_FOR_LATER.search(question)) or is_template or (bool(_CARRIED.search(question)) and bool(_CONDENSE.search(system)))
    )


def _returns_label(request: PromptRequest) -> bool:
    """Return whether the answer has to be an object with a label, by the schema in the request."""
    found: Any = request.whole.value
    for name in ("response_format", "json_schema", "schema", "properties"):
        found = found.get(name) if isinstance(found, dict) else None
    return isinstance(found, dict) and bool(found) and {str(name).lower() for name in found} <= _FIELDS


def _ends(text: str) -> str:
    """Return a text, or the beginning and the end of a long one: instructions stand there."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]}\n{text[-_LONGEST // 2 :]}"
