"""Replace secrets by `[REDACTED]` before anything is cut, counted, embedded or stored."""

from contextd.privacy.redact import MARK, scrub, scrub_named, scrub_text, strictness, user_rules

__all__ = ["MARK", "scrub", "scrub_named", "scrub_text", "strictness", "user_rules"]
