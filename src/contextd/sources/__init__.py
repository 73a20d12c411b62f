"""Sources of documents: files, git history, exported chats and lists of memories."""
