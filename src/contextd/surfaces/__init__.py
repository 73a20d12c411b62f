"""The command line and the MCP server: they translate requests and answers, nothing else."""
