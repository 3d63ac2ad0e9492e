"""Stands where the evidence log goes."""

from __future__ import annotations

from typing import Any


class Log:
    """Keeps what is recorded, or fails."""

    def __init__(self, error: Exception | None = None) -> None:
        self.records: list[dict[str, Any]] = []
        self.error = error

    async def record(self, **values: Any) -> None:
        """Keep the values, or fail."""
        if self.error:
            raise self.error
        self.records.append(values)
