"""From a question to a context: one straight line of steps."""
