"""Whose fault an error is that comes out of a view: the store's, or that of the code that asks it."""

from __future__ import annotations

from traceback import walk_tb


def from_the_store(error: Exception) -> bool:
    """Whether an error inside a view was raised by it, not by the code that asks it, a plug-in, or a ranker of the user's."""
    modules = [
        str(frame.f_globals.get("__name__"))
        for frame, _ in walk_tb(error.__traceback__)
        if frame.f_code.co_name != "seen"  # through which every error inside a view comes
    ]
    ours = [module for module in modules if module.startswith("contextd.")]
    return bool(ours) and ours[-1].startswith("contextd.stores.")
