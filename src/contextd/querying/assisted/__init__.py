"""Optional steps that ask a language model. Each has rules to fall back on."""
