"""The command line, the MCP server, the HTTP service and its client: they translate requests and answers, nothing else."""
