"""Serve the knowledge base to language models over MCP.

``kb_mcp.server.serve`` is the door. Importing this package imports neither the SDK
nor pydantic, so that a program may look at what is installed without paying for it.

**Invariant:** a tool asks the facade, once, and shows what it said. It never ranks,
filters or words anything itself, and lets no model write where that is refused.
"""
