"""Protocols of the stores, sources, models and machine that the core uses."""
