"""Import conversations and notes that other programs exported."""
