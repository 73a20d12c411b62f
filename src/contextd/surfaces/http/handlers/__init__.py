"""What each route of the API does. A function has the name of its route; it runs in a thread."""
