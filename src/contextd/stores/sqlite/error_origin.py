"""Whether an error inside a view was raised by the store or by the code that uses the view."""

from __future__ import annotations

from traceback import walk_tb


def from_the_store(error: Exception) -> bool:
    """Return whether the store raised an error, and not its caller, a plug-in, or the user's ranker."""
    modules = [
        str(frame.f_globals.get("__name__"))
        for frame, _ in walk_tb(error.__traceback__)
        if frame.f_code.co_name != "seen"  # every error inside a view passes through `seen`
    ]
    ours = [module for module in modules if module.startswith("contextd.")]
    return bool(ours) and ours[-1].startswith("contextd.stores.")
