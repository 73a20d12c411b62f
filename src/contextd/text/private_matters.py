"""Recognize messages about private matters: what the sender calls private, health, money, and data of other people.

A sentence is private if it names a person (the sender, a relative, somebody by name) and such a matter, and is not about a text
or a program ("write an article", "a function"). A question about the matter in general is not private. Rules are classes of
words and their structure: stems of medicines, diseases by their endings, parts of the body that hurt, sums that somebody earns
or owes, two ways to reach a person. They know English and German, and a little French and Spanish. `tests/proxy` has examples.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

_LONGEST, _OVERLAP = 2000, 300  # characters of a sentence that are searched at once
_FIRST, _LAST = 30_000, 18_000  # characters of a long message that are looked at: about 0.1 s


class _Matters(NamedTuple):
    """Patterns of a language: who speaks of their own, whom they speak of, what is private, and what is private of others."""

    sender: _Words
    relative: _Words
    matter: _Words
    of_relatives: _Words

    def are_in(self, sentence: str) -> bool:
        """Return whether a sentence speaks of a person and of what is private."""
        about = self.relative.search(sentence)
        if not about and not self.sender.search(sentence):
            return False
        return self.matter.search(sentence) or (about and self.of_relatives.search(sentence))


def is_private(text: str) -> bool:
    """Return whether a message is about private matters."""
    ends = text if len(text) <= _FIRST + _LAST else f"{text[:_FIRST]}\n{text[-_LAST:]}"
    plain = ends.replace("\u2019", "'")
    if _CALLED_PRIVATE.search(plain) or _NUMBER.search(plain) or _tells_how_to_reach(plain):
        return True
    return any(_is_private(part) for sentence in _SENTENCE.split(plain) for part in _parts(sentence))


def _parts(sentence: str) -> Iterator[str]:
    """Yield a sentence, or parts of a long one that overlap: other threads wait for each search."""
    for start in range(0, max(1, len(sentence) - _OVERLAP), _LONGEST - _OVERLAP):
        yield sentence[start : start + _LONGEST]


def _is_private(sentence: str) -> bool:
    if _WORK.search(sentence):
        return False
    if any(one.are_in(sentence) for one in (_ENGLISH, _GERMAN, _ROMANCE)):
        return True
    return bool(_NAMED.search(sentence)) and _OF_OTHERS.search(sentence)


def _tells_how_to_reach(text: str) -> bool:
    """Return whether a text has data of somebody: two of an e-mail address, a telephone number, a street and a date of birth."""
    return sum(bool(pattern.search(text)) for pattern in _REACHED) >= 2


class _Words:
    """A pattern that is compiled when it is first searched for: all of them take 40 ms."""

    def __init__(self, *parts: str) -> None:
        self._parts = parts

    def search(self, text: str) -> bool:
        """Return whether a text has one of the words."""
        return bool(self._pattern.search(text))

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(r"\b(?:" + "|".join(self._parts) + r")\b", re.IGNORECASE)


_SENTENCE = re.compile(r"(?<=[.!?;\n])\s+")
_CALLED_PRIVATE = _Words(
    r"(?:strictly |very |highly )?confidential(?:ly)?|between (?:us|you and me)|off the record|for your eyes only|in confidence",
    r"(?:do not|don't|never) (?:share|tell|repeat|store|save|mention)(?: this| that| it)?(?: to)? (?:with )?(?:anyone|anybody|this|it|my|him|her|them|further)",
    r"keep (?:it|this|that) (?:private|secret|confidential|to yourself|between)|this is (?:very |strictly )?(?:private|secret|personal)",
    r"nobody (?:knows|may know|should know|else knows)|no one (?:knows|should know|else knows)|(?:haven't|have not) told (?:anyone|anybody|my)",
    r"(?:she|he|they|my \w+) (?:doesn't|don't|must not|mustn't|does not) know(?: (?:yet|about (?:it|this|that)))?(?=[.!?;,]|$)",
    r"(?:streng )?vertraulich|unter uns|behalt\w* (?:das|es) f[üu]r dich|(?:sag|erz[äa]hl)\w* (?:das|es|davon) (?:bitte )?(?:niemandem|keinem)",
    r"(?:niemand|keiner) (?:wei(?:ß|ss)|darf|soll) (?:das|es|davon)|(?:wife|husband|partner|parents?|boss|mother|father|family) (?:must not|mustn't|can't|may not) (?:know|find out)|asked me (?:not to tell|to keep)|darf (?:das|es|davon) (?:nie|nicht|nichts) (?:wissen|erfahren)|wei(?:ß|ss) (?:es|davon) (?:noch )?nichts?|ne (?:le|la|l')\s?sai(?:t|ent) pas|ne rien dire|no lo sabe|confidentiel\w*|entre nous|ne le r[ée]p[èe]te|confidencial|entre nosotros|no se lo digas",
)
_NUMBER = re.compile(  # of a person, an account or a card
    r"\b\d{3}-\d{2}-\d{4}\b|\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}\b|\b(?:\d{4}[ -]){3}\d{4}\b"
)
_REACHED = tuple(
    re.compile(pattern)
    for pattern in (
        r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,64}\.[\w.-]{2,24}",
        r"(?<![\w.,:-])(?:\+\d{1,3}[ /-]?\(?\d{2,4}\)?|\(?0\d{2,4}\)?)[ /-]\d{2,5}(?:[ /-]?\d{2,5}){1,3}\b|\(\d{3}\) ?\d{3}-\d{4}\b|\b\d{3}-\d{3}-\d{4}\b",
        r"\b\d{1,5} (?:[A-Z][a-z]{1,20} ){1,3}(?:Street|St\.|Avenue|Ave|Road|Rd|Lane|Drive|Court)|\b[A-ZÄÖÜ][\w-]{1,30}(?:stra(?:ß|ss)e|str\.|weg|gasse|allee|platz) \d{1,4}\b",
        r"(?i:\b(?:born(?: on)?|date of birth|dob|geb(?:oren)?\.?(?: am)?|geburtsdatum))[ :]{1,3}\d{1,4}[./ -]",
    )
)
_NAMED = re.compile(  # "Anna's …", "Tom Miller was …"
    r"\b(?:Mrs?\.? |Ms\.? |Dr\.? |Frau |Herr )?[A-ZÄÖÜ][a-zäöüßé]+(?: [A-ZÄÖÜ][a-zäöüßé]+)?"
    r"(?:'s\b| (?:was|is|has|had|got|owes|earns|told me|hat|ist|war|wurde)\b)"
)
_WORK = _Words(  # the sentence is about a text, a program or a field
    r"essay|article|novel|story|stories|poem|blog|paper|thesis|screenplay|lyrics|characters?|game|quiz|lesson|slides?|translate\w*|fiction\w*|protagonist|podcast|documentary|textbook",
    r"code|codebase|function|class|method|script|api|endpoint|schema|table|column|database|dataset|query|regex|app|unit tests?|tests|library|framework|website|web page",
    r"repo|repository|branch|commit|server|deploy\w*|docker|kubernetes|python|javascript|typescript|java|rust|golang|sql|json|css|html|excel|spreadsheet|formula|latex",
    r"in general|generally|in theory|history of|definition|define|stand for|(?:explain|teach|describe)\w* (?:[\w'-]+ ){1,8}to (?:my|our|an?|the)",
    r"aufsatz|artikel|roman|gedicht|hausarbeit|referat|drehbuch|spiel|funktion|klasse|methode|skript|tabelle|datenbank|abfrage|programm|[üu]bersetz\w*|im allgemeinen",
)

# English

_KIN = (
    r"wife|husband|spouse|partner|girlfriend|boyfriend|fianc[ée]e?|mother|father|mom|mum|dad|parents?|sister|brother|son|daughter|kids?|child|children|baby"
    r"|aunt|uncle|cousin|niece|nephew|grand(?:ma|pa|mother|father|parents|son|daughter|child|children)|in-laws?|\w+-in-law|step(?:mother|father|mom|dad|son|daughter|brother|sister)"
    r"|boss|manager|colleague|coworker|co-worker|employee|intern|team ?mate|neighbou?r|friend|roommate|flatmate|ex|landlord|tenant|client|patient|student|pupil"
    r"|candidate|applicant|teacher|nanny"
)
_RELATIVE = _Words(rf"(?:my|our|his|her|their|the|this|an?|one of (?:my|our)) (?:[\w-]+ ){{0,2}}(?:{_KIN})(?:s|'s|s')?")
_BODY = (
    r"knees?|back|shoulders?|chest|stomach|belly|head|neck|legs?|arms?|foot|feet|ankles?|wrists?|hips?|hands?|fingers?|tooth|teeth|gums?|ears?|eyes?|throat|skin|breasts?"
    r"|heart|liver|kidneys?|lungs?|bladder|jaw|joints?|scalp|groin|abdomen"
)
_SUM = r"(?:about |around |only |just |almost |over |roughly |nur |etwa |rund )?(?:[$€£]\s?\d|\d[\d,.]*\s?(?:k\b|grand|euros?|dollars?|pounds?|bucks|eur|usd|gbp|€|\$|£))"
_HEALTH = "|".join((
    r"(?:was|were|been|got|newly|just|be|is|are) diagnosed|diagnosed with|(?:my|his|her|our|the|a) diagnosis|symptoms?|(?:have|has|had|got|with) (?:had )?(?:a )?(?:high )?fever|vomiting|illness\w*|diseases?|disorders?|syndrome|cancer\w*|tumou?rs?|a lump|lump in",
    r"biops\w+|chemo\w*|radiotherapy|diabet\w+|depress(?:ed|ion|ive)|anxiety|panic attacks?|bipolar|adhd|autis\w+|ptsd|ocd|schizo\w+|psychosis|psychotic|epilep\w+|seizures?|asthma|migraines?|insomnia",
    r"hiv|(?:has|have|had|with) aids|stds|stis|an? st[di](?: test)?|herpes|chlamydia|gonorrh\w+|hpv|miscarr\w+|abortions?|pregnan\w+|infertil\w+|fertility|ivf|contracepti\w+|birth control|menopaus\w+",
    r"my period|(?:missed|heavy|late|painful) periods?|erectile\w*|erections?|libido|orgasms?|masturbat\w+|therap(?:y|ist|ists|ies)|psychiatr\w+|psychologists?|counsell?(?:or|ing)|antidepress\w+|ssris?",
    r"lithium(?! (?:ion|batter))|insulin|metformin|sertraline|prozac|xanax|adderall|ritalin|ozempic|warfarin|viagra|statins?|morphine|opioids?|methadone|antibiotics|painkillers?|blood thinners?|hormones",
    r"prescri(?:bed|ptions?)|medicat\w+|medicines?|meds|pills|tablets a day|dosage|dose of|\d+ ?(?:mg|mcg|µg)",
    r"\w{3,}(?:azole|cillin|mycin|olol|sartan|statin|oxetine|azepam|azolam|tidine|profen|codone|triptan|gliptin|mab|barbital|oxacin)",  # stems of medicines
    r"\w{3,}(?:itis|opathy|(?<!nost)algia|plegia|ectomy)|(?:colon|end|gastr|lapar|arthr|bronch)oscopy|an?emi[ac]|leuka?emi[ac]|(?:carcin|melan|lymph|glauc|myel|sarc)oma|fibroids?|hernia|ulcers?",
    r"(?:endometri|thromb|osteopor|cirrh|fibr|tubercul|psych|scoli)osis|(?:multiple )?sclerosis|psoriasis|eczema|acne|sciatica|tinnitus|vertigo|crohn'?s|celiac|lupus|gout|concussion",
    r"surger(?:y|ies)|(?:heart|knee|hip|back|eye|bypass) operation|(?:before|after|since) (?:my|his|her) operation|(?:a|had|second) strokes?|heart (?:attack|failure|condition|murmur)|relaps\w+|rehab|sober|sobriety",
    r"addict(?:ed|ion)|alcoholi\w+|drinking (?:problem|too much|again|every)|overdos\w+|suicid\w+|self-?harm\w*|kill myself|hurt myself|hate my body|eating disorder|anorexi\w+|bulimi\w+|burn(?:ed|t)?[- ]?out",
    r"(?:drinks?|drank|drinking|smok(?:e|es|ed|ing)) (?:[\w']+ ){0,7}(?:every|each|all) (?:night|day|evening|morning)|hungover|blacked out|cocaine|heroin|meth|ketamine|mdma|obes(?:e|ity)",
    r"blood (?:tests?|pressure|sugar|work|count|clots?|type)|(?:lab|scan|blood|biopsy) results?|test results? (?:came|come|are|show|say)|ferritin|cholesterol|ha?emoglobin|hba1c|tsh|psa level|mri|ct scan|x-?rays?",
    r"ultrasound|mammogram|pap smear|bleeding(?! edge)|(?:a|itchy|skin) rash|rash on|prostate|thyroid|uterus|ovar(?:y|ies)|testicles?|penis|vagina\w*|bowels?|incontinen\w+|ha?emorrhoids?|constipat\w+|diarrh\w+",
    r"vomiting|nausea\w*|dizz(?:y|iness)|palpitations|hot flashes|night sweats|hair loss|dementia|alzheimer\w*|parkinson\w*|disabilit\w+|wheelchair|sick (?:leave|note|days)|medical (?:history|leave|bills?|condition)",
    r"physio(?:therap\w+)?|hospital(?:s|i[sz]ed|i[sz]ation)?|emergency room|doctor(?: said| says|'s)|(?:my|her|his|our) (?:doctor|gp|dentist|gyna?ecologist|urologist|oncologist|cardiologist|dermatologist|neurologist|pediatrician|midwife|shrink)",
    r"can't sleep|(?:keep|been|stop) crying|mental(?:ly)? (?:health|ill|illness|breakdown)|nervous breakdown|pains? (?:in|when|while|during) (?:my|his|her|the|i)|(?:chest|back|knee|neck|hip|joint|stomach|pelvic|chronic|shoulder) pains?",
    rf"(?:{_BODY}) (?:really |still |always |often )?(?:hurts?|aches?|itch(?:es)?|bleeds?|tingles?|(?:is|are) (?:swollen|numb|sore|infected|stiff|inflamed))|(?:swollen|numb|sore|sprained|torn|fractured|infected|itchy) (?:{_BODY})",
))  # fmt: skip
_MONEY = "|".join((
    r"salar(?:y|ies)|income|wages?|paid less|underpaid|pay ?(?:checks?|slips?|day)|pay (?:rise|cut|raise)|raise (?:of|from)|(?:annual|yearly|signing|christmas|year-end|my|quarterly) bonus",
    r"(?<!technical )(?<!tech )debts?|mortgage|loans?|overdraft|overdrawn|(?:my|our|life) savings|savings account|net worth|bank (?:accounts?|balance|statements?)|account (?:number|balance)|(?:checking|joint|offshore) account",
    r"credit (?:cards?|score|report|rating|limit)|tax (?:returns?|bill|debt|id|office|refund|audit|bracket)|taxes|the irs|bankrupt\w*|insolven\w+|(?:my|an|her|his) inheritance",
    r"inherited (?:[\w'-]+ ){0,4}(?:house|money|flat|apartment|estate|land|shares|savings)|alimony|child support|pension|retirement (?:fund|savings|account)|severance|(?:stock|investment|etf|crypto) portfolio|401k|brokerage",
    r"iban|routing number|crypto wallet|behind on (?:the |my |our |his |her )?(?:rent|payments?|bills?|mortgage|loan)|arrears|overdue (?:bills?|rent|payments?)|evict\w+|foreclos\w+|repossess\w+|collections? agency",
    r"debt collector\w*|bailiffs?|payday loan\w*|gambl(?:e|ed|ing)|owe[sd]?|can't (?:afford|pay)|cannot (?:afford|pay)|maxed out|(?:pay|paying|paid) (?:it|them|him|her|me) back|paying off (?:my|our|the)|co-?sign(?:ed|ing)?",
    r"unemploy(?:ment|ed)|welfare|food stamps|disability benefits?|invested (?:my|our|all|everything)|(?:before|after) tax|take-home|(?:gross|net) pay|financial(?:ly)? (?:trouble|problems|situation|dependent|struggling)",
    rf"(?:earn(?:s|ed|ing)?|mak(?:e|es|ing)|borrow(?:ed|ing)?|lent|lend(?:ing)?|lost|won|saved(?: up)?|inherit(?:ed)?|repay) {_SUM}|{_SUM}\S* (?:in debt|in the bank|in savings|on my card)",
))  # fmt: skip
_LIFE = "|".join((  # what people tell few others
    r"divorc(?:e|ed|ing)|(?:we|have|are|got|getting|been|legally) separat(?:ed|ing)(?= (?:last|in|for|since|from|and|but|after)|[.,;!?]|$)|separat(?:ed|ing) from (?:my|his|her)|custody|an affair|affair with|cheat(?:ed|ing|s) on|adopted (?:child|son|daughter|kid)|adoption",
    r"(?:came|coming|come) out (?:as|to (?:my|his|her|our))|gay|lesbian|bisexual|transgender|gender (?:identity|transition)|sex life|sexual\w*|sexting|nudes|infidel\w+|(?:break|breaking|broke|broken) up with|we broke up",
    r"marriage (?:is|counsel\w+|problems)|unfaithful|estranged|secretly|ashamed|lied to (?:my|our|him|her)|abused|abusive|(?:domestic|child|sexual|verbal) abuse|assaulted|assault (?:charge|case)|raped?|stalk(?:er|ing) (?:me|him|her|us)",
    r"domestic violence|arrest(?:ed)?|convict(?:ed|ion)|prison|jail|probation|parole|criminal record|police (?:report|record)|lawsuit|sued|suing|court (?:date|hearing|case|order)|restraining order|blackmail\w*|dui|shoplift\w+",
    r"(?:my|our|his|her|a divorce|a defen[cs]e) (?:lawyer|attorney)|bullied|bullying|harass(?:ed|ing|ment)|asylum|deport(?:ed|ation)|immigration status|visa (?:status|expired|denied)|overstay\w+|undocumented",
    r"(?:got|was|were|been|be|being|getting) (?:fired|sacked)|fired (?:me|him|her)|laid off|disciplinary|performance (?:review|plan|improvement)|hr (?:complaint|meeting)|written warning|resign(?:ed|ing|ation)?|hand in my notice|quit(?:ting)? my job",
    r"(?:my|our|his|her|their) (?:[\w-]+ )?passwords?|passwords? (?:is|are)|pin code|passport number|social security(?: number)?|ssn|home address|phone number|date of birth|birth ?date|licen[cs]e number|medical records?|diary|funeral|(?:recovery|seed) phrase|insurance (?:number|claim)|voted for",
    r"(?:sleep(?:s|ing)|slept) with (?:my|the|his|her|an?|another)|in love with (?:my|another|his|her)|crush on (?:my|a)|(?:i'm|am|is|being) (?:trans|non-?binary|queer|asexual)|porn|escorts?|prostitut\w+|fetish\w*|one-night stand",
    r"(?:hits?|beats?|slaps?|chokes?|threatens|threatened|attacked) (?:me|us|her|him|the kids|the children)|afraid of (?:my|him|her)|police (?:want|called|came|question\w*|are|were|took)|suspect(?:ed of)?|accused of|charged with|under investigation|warrant",
    r"rabbi|priest|imam|pastor|my (?:church|mosque|synagogue|congregation|religion|faith)|left the (?:church|faith|jehovah\w*)|lost my faith|converted to (?:islam|judaism|christianity|catholicism|buddhism)|(?:excommunicat|baptis|baptiz)\w+|joined (?:a|the) (?:union|party)",
    r"(?:my|our) (?:current |remaining |account )?balance|(?:clients?|customers?|patients?|employees?|members?|students?|tenants?|guests?)(?:'s?)? (?:list|file|records?|data|names?|details)? ?(?:with|and|including) (?:their )?(?:[\w-]+ (?:and )?){0,3}(?:numbers|birthdays|addresses|e-?mails|salaries)",
))  # fmt: skip
_OF_RELATIVES = _Words(
    r"died|passed away|is dying|terminal(?:ly)?|widow(?:ed|er)?|is (?:very |really |so |always |often )?(?:sick|ill|drunk|high)|drinks (?:too much|a lot|again|every)|overweight|weighs|steals|stole",
    r"takes drugs|smokes weed|lies about|failed (?:his|her|their)|(?:grades|marks) (?:are|dropped|were)|behaviou?r problems?",
)
_OF_OTHERS = _Words(
    _HEALTH, _LIFE, r"salary|income|debts?|owes|earns|address|drinks too much|drug\w*|religion|grades?|performance|case file"
)
_ENGLISH = _Matters(
    _Words(r"i|i'm|i've|i'd|i'll|me|my|mine|myself|we|we're|we've|us|our|ours"),
    _RELATIVE,
    _Words(_HEALTH, _MONEY, _LIFE),
    _OF_RELATIVES,
)

# German

_KIN_GERMAN = (
    r"frau|mann|partner(?:in)?|freund(?:in)?|verlobte[rn]?|mutter|vater|eltern|schwester|bruder|sohn|tochter|kind(?:er|es)?|baby|tante|onkel|oma|opa|gro(?:ß|ss)\w+|nichte|neffe|cousine?"
    r"|schwieger\w+|chef(?:in)?|vorgesetzte[rn]?|kolleg\w+|mitarbeiter(?:in)?|nachbar(?:in|n)?|mitbewohner(?:in)?|vermieter(?:in)?|mieter(?:in)?|patient(?:in|en)?|klient(?:in|en)?|sch[üu]ler(?:in)?|azubi"
)
_GERMAN = _Matters(
    _Words(r"ich|mir|mich|mein\w*|wir|uns|unser\w*"),
    _Words(rf"(?:mein|dein|sein|ihr|unser|ein)\w{{0,2}} (?:[\w-]+ )?(?:{_KIN_GERMAN})s?"),
    _Words(
        r"krank|kranke[nrs]?|\w*krankheit(?:en)?|krankgeschrieben|krankenhaus|krankenkasse|\w*krebs|tumor\w*|metastasen|schwanger\w*|fehlgeburt|abtreibung|\w*depression(?:en)?|depressiv\w*|burn-?out|angstst[öo]rung",
        r"panikattacken?|(?:ess|schlaf|zwangs|pers[öo]nlichkeits|erektions)st[öo]rung(?:en)?|selbstmord\w*|suizid\w*|s[üu]chtig|(?:spiel|drogen|alkohol|mager)sucht|alkoholiker(?:in)?|r[üu]ckfall|medikamente?n?|tabletten",
        r"antidepressiv\w+|antibiotik\w+|insulin|die pille|\w*therapie|\w*therapeut(?:in|en)?|psychiater(?:in)?|psycholog(?:e|in|en)|blut(?:werte|druck|zucker|test|verd[üu]nner)|bluthochdruck|befunde?|diagnostiziert",
        r"meine diagnose|diagnose (?:bekommen|erhalten)|symptome?|(?:zahn|haus|frauen|haut|augen|kinder)?arzt(?:termin)?|\w*[äa]rztin|klinik|notaufnahme|operiert|(?:herz|knie|h[üu]ft|augen|r[üu]cken)-?(?:op|operation)|reha",
        r"mrt|wechseljahre|meine periode|\w*schmerz(?:en)?|\w*entz[üu]ndung(?:en)?|(?:knochen|arm|bein|rippen|leisten)bruch|ausschlag|durchfall|[üu]belkeit|schwindelig|(?:heu|gelb|dengue|scharlach)?fieber|erbrechen|erbricht|mir ist (?:schlecht|[üu]bel)|schwerbehindert\w*|behinderung|pflegegrad|demenz",
        r"(?:jahres|monats|brutto|netto|grund)?gehalts?|gehaltserh[öo]hung|(?:stunden|netto|brutto|mindest)?lohn|verdiene|schulden|(?:auto|haus|studien)?kredite?|kreditkarten?|(?:giro|bank|spar)konto|konto(?:stand|auszug|ausz[üu]ge|nummer)",
        r"konto (?:ist )?(?:[üu]berzogen|im minus|leer)|steuer(?:erkl[äa]rung|bescheid|nummer|schulden|klasse|r[üu]ckzahlung|berater\w*|id)|finanzamt|geerbt|erbschaft|testament|rente|abfindung|unterhalt(?:szahlung\w*)?|miete nicht",
        r"mahnung(?:en)?|inkasso\w*|gerichtsvollzieher(?:in)?|pleite|\w*insolvenz|b[üu]rgergeld|arbeitslos\w*|hypothek|ersparnisse|schufa\w*|brutto|netto|gl[üu]cksspiel",
        rf"(?:verdien\w*|leihe|geliehen|gespart|verloren|schulde\w*) {_SUM}|{_SUM}\S* (?:schulden|brutto|netto|verloren|geerbt|geliehen)",
        r"scheidung|scheiden lassen|geschieden|(?:trenne mich|getrennt lebend|unsere trennung)|getrennt von meine\w|sorgerecht|aff[äa]re|fremd(?:gegangen|gehen|geht)|betr[üu]gt mich|ehe(?:probleme|krise|beratung)|schwul|lesbisch|geoutet",
        r"missbraucht?|vergewaltig\w+|h[äa]usliche gewalt|verhaftet|vorbestraft|strafanzeige|angezeigt|vor gericht|gerichts(?:termin|verhandlung|verfahren)|mein\w* anw[äa]lt\w*|gef[äa]ngnis|bew[äa]hrung|abmahnung|abgemahnt|aufhebungsvertrag",
        r"(?:mir|ihm|ihr|wurde|wird|bin) (?:\w+ ){0,3}gek[üu]ndigt|k[üu]ndigung (?:bekommen|erhalten)|mobbing|gemobbt|bel[äa]stigt?|abschiebung|aufenthaltstitel|passwort|personalausweis\w*|sozialversicherungsnummer|geburtsdatum|jugendamt|heimlich",
        r"schl[äa]gt (?:mich|uns|sie|ihn)|geschlagen|bedroht (?:mich|uns)|getrunken hat|betrunken|drogen|kokain|steuer-?id\w*|versichertennummer|(?:aus der )?kirche (?:ausgetreten|austreten)|kirchenaustritt|konvertiert|pfarrer|rabbiner|imam|verliebt in|schl[äa]ft mit|transgender|transsexuell|verd[äa]chtig\w*|ermittl\w+|polizei",
    ),
    _Words(
        r"gestorben|verstorben|stirbt|liegt im sterben|trinkt (?:zu viel|wieder|jeden)|klaut|nimmt drogen|noten sind|nicht versetzt"
    ),
)

# French and Spanish

_ROMANCE = _Matters(
    _Words(
        r"je|j'\w+|moi|mon|ma|mes|m'\w+|nous|notre|nos|on m'\w+|yo|mi|mis|nosotros|nuestr\w+|tengo|estoy|gano|debo|tomo|soy|me|he|hemos|puedo"
    ),
    _Words(
        r"(?:mon|ma|mes|son|sa|ses|notre|un|une|le|la) (?:femme|mari|[ée]poux|[ée]pouse|compagn(?:on|e)|copain|copine|fils|fille|enfants?|m[èe]re|p[èe]re|parents|s(?:œ|oe)ur|fr[èe]re|tante|oncle|grand-(?:m[èe]re|p[èe]re)|patron(?:ne)?|coll[èe]gue|voisine?|[ée]l[èe]ve|patiente?|locataire)",
        r"(?:mi|mis|su|sus|nuestr[oa]s?|un|una|el|la) (?:espos[oa]|marido|mujer|novi[oa]|pareja|hij[oa]s?|madre|padre|padres|herman[oa]|t[íi][oa]|abuel[oa]|jef[ea]|compa[ñn]er[oa]|vecin[oa]|alumn[oa]|paciente|inquilin[oa])",
    ),
    _Words(
        # health
        r"maladies?|malade|enceinte|grossesse|avort\w+|fausse couche|d[ée]pression|d[ée]prim[ée]e?|m[ée]dicaments?|th[ée]rap(?:ie|eute)|ordonnance|m[ée]decin|h[ôo]pital|cancer|tumeurs?|chimio\w*|op[ée]ration|op[ée]r[ée]e?|diagnosti\w+|sympt[ôo]mes?",
        r"mal (?:au|à la|à l'|aux) \w+|fi[èe]vre|vomi(?:t|s|ssements?)?|douleurs?|anxi[ée]t[ée]|angoisses?|insomnies?|suicid\w+|psychologue|psychiatre|psy|comprim[ée]s|cachets|antid[ée]presseurs?|diab[èe]te|diab[ée]tique|vih|sida|ist|r[èe]gles|m[ée]nopause|alcoolique|alcool|drogues?|cannabis|coca[ïi]ne|addict\w*|arr[êe]t maladie|handicap\w*|boulimi\w*|anorexi\w*|tension art[ée]rielle|prise de sang|analyses? de sang",
        r"enfermedad(?:es)?|enferm[oa]|embarazad[ao]|embarazo|abort\w+|depresi[óo]n|deprimid[oa]|medicaci[óo]n|medicamentos?|terap(?:ia|euta)|receta m[ée]dica|m[ée]dic[oa]|hospital|c[áa]ncer|tumor|quimio\w*|operaron|operaci[óo]n de|diagnostic\w+|s[íi]ntomas?",
        r"duelen?|fiebre|v[óo]mit\w+|dolor(?:es)? (?:de|en)|ansiedad|insomnio|psic[óo]log[oa]|psiquiatra|pastillas|antidepresivos?|dosis|litio|diabetes|diab[ée]tic[oa]|la regla|menopausia|alcoh[óo]lic[oa]|bebe demasiado|drogas?|marihuana|coca[íi]na|adict[oa]|baja (?:m[ée]dica|laboral)|discapacidad|bulimia|anorexia|tensi[óo]n (?:alta|arterial)|an[áa]lisis de sangre",
        # money
        r"salaire|(?:fiche|bulletin) de (?:paie|salaire)|dettes?|endett\w+|surendett\w+|(?:un |mon |le )pr[êe]t (?:immobilier|bancaire|[ée]tudiant)|emprunt\w*|rembours\w+|cr[ée]dit (?:de|immobilier|auto|conso\w*|[àa])|compte (?:bancaire|courant|en banque)|[àa] d[ée]couvert|imp[ôo]ts|fisc|h[ée]rit\w+|retraite|ch[ôo]mage|rsa|[ée]pargne|[ée]conomies|huissier|loyer (?:impay[ée]|en retard)|(?:peux|pouvons) (?:pas|plus) payer|pension alimentaire|carte bancaire|je gagne \d",
        r"sueldo|salario|n[óo]mina|deudas?|debo \d|endeudad[oa]|pr[ée]stamo|hipoteca|cuenta (?:bancaria|corriente)|n[úu]meros rojos|impuestos|hacienda|herencia|hered[ée]|pensi[óo]n|desempleo|en (?:el )?paro|ahorros|embarg\w+|(?:puedo|podemos) pagar|atrasad[oa] (?:con|en) (?:el|la)|tarjeta de cr[ée]dito|gano \d",
        # what people tell few others
        r"divorc\w+|garde (?:des enfants|altern[ée]e)|s[ée]par(?:er|ation|[ée]s?) (?:de|d'avec)|(?:il|elle|mari|femme) me trompe|infid[èe]l\w+|ma[îi]tresse|amant|amoureu(?:x|se) d'une?|licenci[ée]+\w*|m'a vir[ée]e?|faire virer|d[ée]mission\w*|mot de passe|code pin|s[ée]curit[ée] sociale|num[ée]ro de passeport|viol[ée]e?s?|maltrait\w+|me (?:frappe|bat|menace)|violences?|harc[èe]l\w+|porter plainte|plainte contre|garde [àa] vue|la police (?:m'|est|a|veut)|tribunal|avocat (?:dit|me)|prison|casier judiciaire|homosexuel\w*|gay|lesbienne|trans|coming out|[ée]glise|pr[êe]tre|imam|rabbin|sans[- ]papiers|titre de s[ée]jour|asile",
        r"divorci\w+|custodia|separ(?:ar|ado|ada|aci[óo]n) (?:de|legal)|me (?:enga[ñn]a|es infiel)|infiel|infidelidad|amante|enamorad[oa] de|despid\w+|me han (?:echado|despedido|denunciado)|contrase[ñn]a|seguridad social|dni|n[úu]mero de (?:pasaporte|cuenta|tarjeta)|viol(?:ada|aci[óo]n)|maltrat\w+|me (?:pega|amenaza)|acos(?:o|an|a)|denunci(?:a|ar|ado|ada)|polic[íi]a|juicio|juzgado|c[áa]rcel|antecedentes|homosexual|gay|lesbiana|transexual|iglesia|sacerdote|sin papeles|permiso de residencia|asilo",
    ),
    _Words(r"est morte?s?|est d[ée]c[ée]d[ée]e?s?|va mourir|muri[óo]|falleci[óo]|se muere|boit|bebe"),
)
