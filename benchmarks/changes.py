"""What is kept of a fact: its value, whether it is a limit, and which earlier fact it ends.

`python -m benchmarks.changes [--misses]` measures items by another hand (tests/remembering/items/measures.json, changes.json).
Every second item is for development, the others are held out: `--misses` lists what is wrong in the development half only.
`python -m benchmarks.changes --persons FILE` measures persons by other hands (examples/changes; held out:
tests/remembering/items/changes_held_out.jsonl): for each new fact, which of a dozen it ends, wholly or in part, or none.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.persons import told
from contextd.remembering.values import valued

ITEMS = Path(__file__).parent.parent / "tests/remembering/items"


def is_limit(text: str) -> bool:
    """Whether the value of a fact has a sign of a limit."""
    return valued(text).value.startswith(("≤", "≥"))


def is_age(text: str) -> bool:
    return valued(text).attribute == "age"


def is_replaced(sequence: dict[str, Any]) -> bool:
    """Whether the facts that hold no longer are ended, or shown as a contradiction, and all others hold."""
    with told([]) as session:
        done = [session.memories.remember(text) for text in sequence["told"]]
        held = {one.id for one in session.memories.personal_facts()}
        against = {old.id for one in done for old in one.contradicts}
        ids = [one.memory.id for one in done]
    return all(ids[place] in held for place in sequence["now"]) and all(
        ids[place] not in held or ids[place] in against for place in sequence["ended"]
    )


def is_whole(item: dict[str, str]) -> bool:
    """Whether value and unit together are as the annotator has them, but for spaces and signs of limits."""
    found = valued(item["text"])
    return _bare(item["value"]) in (
        _bare(found.value),
        _bare(f"{found.value} {found.unit}"),
        _bare(f"{found.unit} {found.value}"),
    )


def _bare(text: str) -> str:
    return "".join(sign for sign in text.casefold() if sign.isalnum() or sign in "€$£%+/")


def judge(name: str, items: Sequence[Any], right: Callable[[Any], bool]) -> None:
    """Print the share that is right in each half."""
    judged = [right(item) for item in items]
    halves = [judged[0::2], judged[1::2]]
    print(f"{name}: {sum(halves[0])} of {len(halves[0])} (development), {sum(halves[1])} of {len(halves[1])} (held out)")
    if "--misses" in sys.argv:
        print(*(f"  {item}" for item, good in list(zip(items, judged, strict=True))[0::2] if not good), sep="\n")


class Outcome(NamedTuple):
    """What a new fact did to the facts before: places that it ended, and those that it contradicts."""

    ended: frozenset[int]
    against: frozenset[int]


def outcome(facts: Sequence[str], new: str) -> Outcome:
    """Tell a person's facts and then a new one."""
    with told([]) as session:
        ids = [session.memories.remember(text).memory.id for text in facts]
        done = session.memories.remember(new)
        places = {one: place for place, one in enumerate(ids)}
        ended, against = ({places[old.id] for old in some if old.id in places} for some in (done.replaced, done.contradicts))
    return Outcome(frozenset(ended), frozenset(against))


def persons(path: Path) -> None:
    """Print what becomes of facts that a new one ends, wholly or in part, or leaves as they are, by language."""
    counts = dict[str, Counter[str]]()
    for line in path.read_text("utf-8").splitlines():
        person = json.loads(line)
        count = counts.setdefault("English" if person["language"] == "en" else "other languages", Counter())
        for one in person["then"]:
            found, ends, partly = outcome(person["facts"], one["text"]), set(one["ends"]), set(one["partly"])
            count["to end"] += len(ends)
            count["ended"] += len(ends & found.ended)
            count["contradicted"] += len(ends & found.against)
            count["in part"] += len(partly)
            count["in part, contradicted"] += len(partly & found.against)
            count["new facts"] += 1
            count["end a wrong one"] += bool(found.ended - ends)
            count["contradict a wrong one"] += bool(found.against - ends - partly)
    for language, count in counts.items():
        print(f"{path.stem}, {language}: {dict(count)}")


def main() -> None:
    """Measure all sets."""
    if "--persons" in sys.argv:
        persons(Path(sys.argv[-1]))
        return
    measures, changes = (json.loads((ITEMS / f"{name}.json").read_text("utf-8")) for name in ("measures", "changes"))
    judge(
        "plain measures that are neither limit nor age", measures["measures"], lambda text: not (is_limit(text) or is_age(text))
    )
    judge("limits", measures["limits"], is_limit)
    judge("ages", measures["ages"], is_age)
    judge("values", changes["values"], is_whole)
    judge("changes", changes["sequences"], is_replaced)


if __name__ == "__main__":
    main()
