"""The application: home, session, its services for memories, chats, code and tasks, and the wiring of adapters."""
