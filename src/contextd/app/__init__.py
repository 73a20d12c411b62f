"""The application: the engine, what it offers on memories, chats, code and tasks, and the wiring of adapters."""
