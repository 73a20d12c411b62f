"""Save memories: facts stated by a person."""
