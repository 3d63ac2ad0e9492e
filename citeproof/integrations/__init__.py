"""Integrations of citeproof: LangChain agents, MCP clients, OpenTelemetry."""
