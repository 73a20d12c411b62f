"""Recognize messages about private matters: what the sender calls private, health, money, and data of other people.

A message about such a field in general ("how do I lower cholesterol") is not private; one that tells or asks something about a
person is. Rules are patterns in English, German, French and Spanish. `tests/proxy` has examples of both.
"""

from __future__ import annotations

import re

_FIRST, _LAST = 6000, 2000  # characters of a long message that are looked at


def is_private(text: str) -> bool:
    """Return whether a message is about private matters."""
    ends = text if len(text) <= _FIRST + _LAST else f"{text[:_FIRST]}\n{text[-_LAST:]}"
    plain = ends.replace("\u2019", "'")
    return any(pattern.search(plain) for pattern in _PATTERNS)


def _any(*parts: str) -> str:
    return "(?:" + "|".join(parts) + ")"


_FEW = r"(?:[\w'-]+[ ,]+){0,4}?"  # words between two others
# Whose: the sender's own, or that of a person they know.
_MINE = r"\b(?:my|our|mine|mein\w*|unser\w*|mon|ma|mes|notre|nos|mi|mis|nuestr\w+)\b"
_RELATIVE = _any(
    r"wife|husband|spouse|partner|girlfriend|boyfriend|mother|father|mom|mum|dad|sister|brother|son|daughter|kid|child|children",
    r"aunt|uncle|cousin|niece|nephew|grand\w+|boss|manager|colleague|coworker|co-worker|neighbou?r|friend|roommate|flatmate|ex",
    r"employee|client|customer|patient|student|tenant|candidate|applicant",
    r"frau|mann|mutter|vater|schwester|bruder|sohn|tochter|chef\w*|kolleg\w+|nachbar\w*|freund\w*|kind|kunde\w*|patient\w*",
    r"femme|mari|m[èe]re|p[èe]re|s[œo]eur|fr[èe]re|fils|fille|patron|coll[èe]gue|voisine?|ami\w*",
    r"esposa|esposo|marido|madre|padre|hermana|hermano|hijo|hija|jefe|jefa|vecin[oa]|amig[oa]",
)
_SOMEBODY = rf"(?:{_MINE} (?:[\w-]+ )?{_RELATIVE}|\b(?:the|this|a|an|one of (?:my|our)) (?:[\w-]+ )?{_RELATIVE})(?:'s|s')?\b"
_ILLNESS = _any(
    r"diagnos\w+|symptoms?|illness|disease|disorder|syndrome|cancer|tumou?r|chemo\w*|diabet\w+|depress\w+|anxiety|panic attacks?",
    r"bipolar|adhd|autis\w+|ptsd|ocd|schizophren\w+|epilep\w+|asthma|hiv|aids|std|sti|herpes|hepatitis|chlamydia|gonorrh\w+",
    r"miscarr\w+|abortion|pregnan\w+|infertil\w+|ivf|menopaus\w+|period is|erectile\w*|libido|therap(?:y|ist|ies)|psychiatr\w+",
    r"antidepressants?|ssri|lithium|insulin|metformin|prescri\w+|medications?|meds|dosage|surgery|biopsy|relapse\w*|rehab",
    r"addict\w+|alcoholi\w+|overdose\w*|suicid\w+|self.?harm\w*|eating disorder|anorexi\w+|bulimi\w+|burn-?out",
    r"blood (?:test|pressure|sugar|work)|test results?|lab results?|mri|ct scan|x-?ray|lump|bleeding|rash|seizures?|dementia|alzheimer\w*",
    r"krank\w*|krebs|schwanger\w*|fehlgeburt|depression\w*|medikament\w*|therapie|blutwerte|befund|sucht",
    r"maladie|cancer|enceinte|grossesse|d[ée]pression|m[ée]dicaments?|th[ée]rapie|ordonnance",
    r"enfermedad|c[áa]ncer|embarazad[ao]|embarazo|depresi[óo]n|medicaci[óo]n|medicamentos?|terapia|receta",
)
_FUNDS = _any(
    r"salar(?:y|ies)|income|wages?|paycheck|pay ?slip|bonus|debts?|mortgage|loans?|overdraft|savings|net worth|bank (?:account|balance)",
    r"account (?:number|balance)|credit (?:card|score|report)|tax (?:return|bill|debt|id)\w*|taxes|bankrupt\w*|inheritance|alimony",
    r"child support|pension|severance|portfolio|401k|brokerage|iban|routing number|social security|ssn|rent arrears|unemployment benefits?",
    r"gehalt\w*|lohn\w*|schulden|kredit\w*|konto\w*|steuer\w+|erbe|erbschaft|rente|abfindung|unterhalt",
    r"salaire|dettes?|pr[êe]t|compte bancaire|imp[ôo]ts|h[ée]ritage|retraite|pension",
    r"sueldo|salario|deudas?|pr[ée]stamo|hipoteca|cuenta bancaria|impuestos|herencia|pensi[óo]n|n[óo]mina",
)
_PERSONAL = _any(
    r"phone number|address|e-?mail address|date of birth|birth ?date|passport|social security|ssn|licen[cs]e number|id number|medical",
    r"health|record|file|criminal|conviction|arrest\w*|affair|divorce\w*|sexual\w*|orientation|gay|lesbian|trans|religion|immigration",
    r"visa status|performance review|salary|debts?|income|password|home address|case file|custody|harass\w+|fired|drinking|drug\w*",
)
_PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        # What the sender calls private.
        r"\b(?:confidential(?:ly)?|between (?:us|you and me)|off the record|(?:do not|don't|please don't) (?:share|tell|repeat|store|save)"
        r"|keep (?:it|this|that) (?:private|secret|confidential|to yourself|between)|this is (?:very |strictly )?(?:private|secret|personal)"
        r"|nobody (?:knows|may know|should know)|(?:haven't|have not) told (?:anyone|anybody|my)|vertraulich|unter uns|behalt\w* (?:das|es) f[üu]r dich"
        r"|confidentiel\w*|entre nous|ne le r[ée]p[èe]te|confidencial|entre nosotros|no se lo digas)\b",
        # The sender's own health and money.
        rf"{_MINE} {_FEW}(?:{_ILLNESS}|{_FUNDS}|password|pin code|affair|divorce|passwort|mot de passe|contrase[ñn]a)\b",
        rf"\b(?:i|we)(?:'m|'ve|'ve been| am| was| have| had| have been| got| just got| might be| may be| think i(?:'m| have| am)?| feel| take| took"
        rf"|'m taking| am taking| started| stopped taking| suffer from| struggle with| need| live with) {_FEW}{_ILLNESS}\b",
        rf"\b(?:i|we) (?:earn|make|owe|can't pay|cannot pay|can't afford|inherited|lost|won|saved|borrowed|have|had|got|only have) {_FEW}(?:{_FUNDS}|[$€£¥]\s?\d|\d[\d.,]*\s?(?:[$€£]|k\b|eur|usd|dollars|euros|pounds))",
        rf"\b(?:ich|wir) (?:habe?n?|hatte|bin|war|nehme|verdiene|schulde|leide) {_FEW}(?:{_ILLNESS}|{_FUNDS}|\d[\d.,]*\s?(?:€|euro))",
        rf"\b(?:j'ai|je (?:suis|gagne|dois|prends)|on m'a) {_FEW}(?:{_ILLNESS}|{_FUNDS}|\d[\d.,]*\s?(?:€|euros))",
        rf"\b(?:tengo|estoy|gano|debo|tomo|me han|me) {_FEW}(?:{_ILLNESS}|{_FUNDS}|\d[\d.,]*\s?(?:€|euros))",
        # Other people.
        rf"{_SOMEBODY} {_FEW}(?:{_ILLNESS}|{_FUNDS}|{_PERSONAL})\b",
        rf"\b(?:{_ILLNESS}|{_PERSONAL}) (?:of|von|de|du) {_SOMEBODY}",
        rf"{_SOMEBODY} (?:was|is|has been|got) (?:diagnosed|hospitali[sz]ed|arrested|fired|pregnant|cheating|drinking)\b",
        # Numbers that identify a person or an account.
        r"\b\d{3}-\d{2}-\d{4}\b|\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}\b|\b(?:\d{4}[ -]){3}\d{4}\b",
    )
)
