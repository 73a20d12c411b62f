"""Links between documents: who defines a name, who uses it, what depends on what."""
