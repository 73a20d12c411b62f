"""The MCP (Model Context Protocol) surface: tools that an agent calls."""
