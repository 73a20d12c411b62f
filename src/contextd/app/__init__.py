"""The application: home and session, what a session offers on memories, chats, code and tasks, and the wiring of adapters."""
