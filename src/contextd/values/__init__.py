"""Plain values that every layer shares: documents, queries, answers, memories, conversations, jobs."""
