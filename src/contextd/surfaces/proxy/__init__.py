"""The proxy for OpenAI clients: requests under /v1 are passed on to an upstream, its answers are relayed as they come."""
