"""Protocols: what the core asks of stores, sources, models and the machine."""
