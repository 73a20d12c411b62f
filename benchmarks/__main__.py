"""`make bench`: every measurement, one after the other; what has no data here says so and is skipped."""

from __future__ import annotations

from benchmarks import (
    answers,
    bugs,
    callers,
    chats,
    code,
    data,
    facets,
    gate,
    guesses,
    memories,
    savings,
    scifact,
    secrets,
    speed,
    tune,
    watch,
)


def main() -> None:
    """Run all of it."""
    for name, run in (
        ("answers", answers.main),
        ("gate", gate.main),
        ("tune", tune.main),
        ("code", code.main),
        ("scifact", scifact.main),
        ("savings", savings.main),
        ("secrets", secrets.main),
        ("callers", callers.main),
        ("bugs", bugs.main),
        ("guesses", guesses.main),
        ("facets", facets.main),
        ("memories", memories.main),
        ("chats", chats.main),
        ("speed", speed.main),
        ("watch", watch.main),
    ):
        print(f"== {name}")
        if not data.BENCH.is_dir() or not data.REPOS.is_dir():
            print("skipped: set CONTEXTD_BENCH and CONTEXTD_BENCH_REPOS to the evaluation data")
            continue
        run()


if __name__ == "__main__":
    main()
