"""citeproof inside other people's stacks: LangChain agents, MCP clients, OpenTelemetry."""
