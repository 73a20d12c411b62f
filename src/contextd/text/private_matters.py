"""Recognize messages about private matters: what the sender calls private, health, money, and data of other people.

A sentence is private if it names a person (the sender, a relative, somebody by name) and such a matter, and is not about a text
or a program ("write an article", "a function"). A question about the matter in general is not private. Rules are patterns in
English, German, French and Spanish. `tests/proxy` has examples of both.
"""

from __future__ import annotations

import re

_FIRST, _LAST = 40_000, 24_000  # characters of a long message that are looked at: about 0.1 s


def is_private(text: str) -> bool:
    """Return whether a message is about private matters."""
    ends = text if len(text) <= _FIRST + _LAST else f"{text[:_FIRST]}\n{text[-_LAST:]}"
    plain = ends.replace("\u2019", "'")
    if _CALLED_PRIVATE.search(plain) or _NUMBER.search(plain):
        return True
    return any(_is_private(sentence) for sentence in _SENTENCE.split(plain))


def _is_private(sentence: str) -> bool:
    if _WORK.search(sentence):
        return False
    if _SENDER.search(sentence) or _RELATIVE.search(sentence):
        return bool(_HEALTH.search(sentence) or _MONEY.search(sentence) or _LIFE.search(sentence))
    named = bool(_NAMED.search(sentence))
    return named and bool(_HEALTH.search(sentence) or _LIFE.search(sentence) or _OF_OTHERS.search(sentence))


def _words(*parts: str) -> re.Pattern[str]:
    return re.compile(r"\b(?:" + "|".join(parts) + r")\b", re.IGNORECASE)


_SENTENCE = re.compile(r"(?<=[.!?;\n])\s+")
_CALLED_PRIVATE = _words(
    r"(?:strictly |very |highly )?confidential(?:ly)?|between (?:us|you and me)|off the record|for your eyes only|in confidence",
    r"(?:do not|don't|never) (?:share|tell|repeat|store|save|mention)(?: this| that| it)?(?: to)? (?:with )?(?:anyone|anybody|this|it|my|him|her|them|further)",
    r"keep (?:it|this|that) (?:private|secret|confidential|to yourself|between)|this is (?:very |strictly )?(?:private|secret|personal)",
    r"nobody (?:knows|may know|should know|else knows)|no one (?:knows|should know|else knows)|(?:haven't|have not) told (?:anyone|anybody|my)",
    r"(?:she|he|they|my \w+) (?:doesn't|don't|must not|mustn't|does not) know|vertraulich|unter uns|behalt\w* (?:das|es) f[üu]r dich",
    r"confidentiel\w*|entre nous|ne le r[ée]p[èe]te|confidencial|entre nosotros|no se lo digas",
)
_NUMBER = re.compile(  # of a person, an account or a card
    r"\b\d{3}-\d{2}-\d{4}\b|\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}\b|\b(?:\d{4}[ -]){3}\d{4}\b"
)
_SENDER = _words(
    r"i|i'm|i've|i'd|i'll|me|my|mine|myself|we|we're|we've|us|our|ours",
    r"ich|mir|mich|mein\w*|wir|uns|unser\w*|je|j'\w+|moi|mon|ma|mes|nous|notre|nos|yo|mi|mis|nosotros|nuestr\w+|tengo|estoy|gano|debo|tomo|soy",
)
_RELATIVE = _words(
    r"(?:my|our|his|her|their|the|this|an?|one of (?:my|our)) (?:[\w-]+ ){0,2}(?:wife|husband|spouse|partner|girlfriend|boyfriend|fianc[ée]e?|mother"
    r"|father|mom|mum|dad|parents?|sister|brother|son|daughter|kids?|child|children|baby|aunt|uncle|cousin|niece|nephew|grand\w+|in-laws?|\w+-in-law"
    r"|boss|manager|colleague|coworker|co-worker|employee|team ?mate|neighbou?r|friend|roommate|flatmate|ex|landlord|tenant|client|patient|student|pupil"
    r"|candidate|applicant|teacher|nanny)(?:s|'s|s')?"
)
_NAMED = re.compile(  # "Anna's …", "Tom Miller was …"
    r"\b(?:Mrs?\.? |Ms\.? |Dr\.? )?[A-Z][a-zé]+(?: [A-Z][a-zé]+)?(?:'s\b| (?:was|is|has|had|got|owes|earns|told me)\b)"
)
_WORK = _words(  # the sentence is about a text, a program or a field
    r"(?:essay|article|novel|story|stories|poem|blog|paper|thesis|screenplay|lyrics|character|game|quiz|lesson|slides?|translate\w*)",
    r"(?:code|codebase|function|class|method|script|api|endpoint|schema|table|column|database|dataset|query|regex|app|unit tests?|tests|library|framework)",
    r"(?:repo|repository|branch|commit|server|deploy\w*|docker|kubernetes|python|javascript|typescript|java|rust|golang|sql|json|css|html|excel|spreadsheet|formula)",
    r"(?:in general|generally|in theory|history of|definition|define|stand for)",
)
_HEALTH = _words(
    r"diagnos\w+|symptoms?|illness\w*|disease\w*|disorders?|syndrome|cancer\w*|tumou?rs?|lumps?|biops\w+|chemo\w*|radiotherapy|diabet\w+|depress\w+|anxiety",
    r"panic attacks?|bipolar|adhd|autis\w+|ptsd|ocd|schizo\w+|psychosis|epilep\w+|seizures?|asthma|migraines?|insomnia|hiv|aids|stds?|stis?|herpes|hepatitis",
    r"chlamydia|gonorrh\w+|miscarr\w+|abort(?:ion|ed)\w*|pregnan\w+|infertil\w+|fertility|ivf|contracepti\w+|menopaus\w+|my period|erectile\w*|libido",
    r"therap(?:y|ist|ists|ies)|psychiatr\w+|psycholog\w+|counsell?(?:or|ing)|antidepress\w+|ssris?|lithium|insulin|metformin|sertraline|prozac|xanax|adderall",
    r"ritalin|ozempic|warfarin|statins?|viagra|morphine|oxycod\w+|opioids?|methadone|prescri\w+|medicat\w+|medicines?|meds|pills|tablets a day|dosage|dose of",
    r"surgery|operation on|stroke|heart attack|relaps\w+|rehab|sober|addict\w+|alcoholi\w+|drinking (?:problem|too much|again|every)|overdos\w+|suicid\w+|self-?harm\w*",
    r"kill myself|hurt myself|eating disorder|anorexi\w+|bulimi\w+|burn-?out|blood (?:tests?|pressure|sugar|work|count)|(?:test|lab|scan) results?|ferritin|cholesterol",
    r"ha?emoglobin|hba1c|tsh|psa level|mri|ct scan|x-?rays?|ultrasound|mammogram|pap smear|bleeding|rash|dementia|alzheimer\w*|parkinson\w*|disabilit\w+|wheelchair",
    r"hospital\w*|doctor(?: said| says|'s)|my (?:doctor|gp|dentist|gyna?ecologist|urologist|oncologist|cardiologist)|chest pains?|back pain|pain in my|can't sleep|crying",
    r"krank\w*|krebs|schwanger\w*|fehlgeburt|depression\w*|medikament\w*|tabletten|therapie|therapeut\w*|blutwerte|blutdruck|befund|sucht|arzt|[äa]rztin|krankenhaus",
    r"maladie|enceinte|grossesse|d[ée]pression|m[ée]dicaments?|th[ée]rapie|ordonnance|m[ée]decin|h[ôo]pital|enfermedad|c[áa]ncer|embarazad[ao]|embarazo",
    r"depresi[óo]n|medicaci[óo]n|medicamentos?|terapia|receta m[ée]dica|m[ée]dico|hospital",
)
_MONEY = _words(
    r"salar(?:y|ies)|income|wages?|paid less|paychecks?|pay ?slips?|pay ?day|pay rise|raise (?:of|from)|bonus|debts?|in debt|mortgage|loans?|overdraft|overdrawn|savings",
    r"net worth|bank (?:accounts?|balance|statements?)|account (?:number|balance)|credit (?:cards?|score|report|rating)|tax (?:returns?|bill|debt|id|office|refund)|taxes|the irs",
    r"bankrupt\w*|insolven\w+|inherit\w*|alimony|child support|pension|retirement (?:fund|savings|account)|severance|portfolio|401k|brokerage|iban|routing number",
    r"behind on|arrears|overdue|evict\w+|foreclos\w+|repossess\w+|collections? agency|debt collector\w*|bailiffs?|payday loan\w*|gambl\w+|owe[sd]?|can't (?:afford|pay)|cannot (?:afford|pay)",
    r"afford (?:the|my|our) (?:rent|mortgage)|settlement|unemployment|welfare|benefits office|invested|lost (?:[$€£]\s?\d|\d[\d,.]*\s?(?:k|euros|dollars))|per (?:year|month|hour) (?:before|after) tax",
    r"(?:earn|earns|make|makes|earning|making) (?:about |around |only |just )?(?:[$€£]\s?\d|\d[\d,.]*\s?(?:k\b|euros?|dollars?|pounds?|eur|usd|€|\$))\S*",
    r"gehalt\w*|lohn\w*|verdiene|schulden|kredit\w*|konto\w*|steuer\w+|erbe|erbschaft|rente|abfindung|unterhalt|miete nicht",
    r"salaire|dettes?|pr[êe]t|compte bancaire|imp[ôo]ts|h[ée]ritage|retraite|sueldo|salario|deudas?|pr[ée]stamo|hipoteca|cuenta bancaria|impuestos|herencia|pensi[óo]n|n[óo]mina",
)
_LIFE = _words(  # what people tell few others
    r"divorc\w+|separat(?:ed|ing|ion)|custody|affair|cheat(?:ed|ing) on|adopt(?:ed|ion)|came out|coming out|gay|lesbian|bisexual|transgender|transition(?:ed|ing)?|sex life|sexual\w*|virgin",
    r"affair with|abus(?:e|ed|ive)|assault\w*|rape\w*|stalk\w*|domestic violence|arrest\w*|convict\w+|prison|jail|probation|parole|criminal record|lawsuit|sued|suing|restraining order",
    r"asylum|deport\w+|immigration status|visa (?:status|expired|overstay\w*)|undocumented|fired|laid off|disciplinary|performance (?:review|plan)|harass\w+|hr complaint|resign\w*",
    r"passwords?|pin code|passport number|social security(?: number)?|ssn|home address|phone number|date of birth|birth ?date|licen[cs]e number|medical records?|diary|funeral",
    r"scheidung|geschieden|sorgerecht|verhaftet|gek[üu]ndigt|passwort|divorce|garde des enfants|licenci[ée]e?|mot de passe|divorcio|custodia|despedid[oa]|contrase[ñn]a",
)
_OF_OTHERS = _words(r"salary|income|debts?|owes|earns|address|drinks too much|drug\w*|religion|grades?|performance|case file")
