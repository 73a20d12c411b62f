"""From a question to a context: a straight pipeline of steps."""
