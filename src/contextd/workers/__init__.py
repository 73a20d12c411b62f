"""Processes of our own in which parsers run, and their driver."""
