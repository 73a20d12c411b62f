"""Taking conversations and notes from elsewhere: the core's fourth line."""
