"""The embedded models, opened once for all integration tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from citeproof import Settings, Toolbox

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="session")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Toolbox]:
    """Embedded models over an index of the example documents."""
    store = tmp_path_factory.mktemp("store")
    with Toolbox.from_settings(Settings.load(chroma={"path": store})) as tools:
        assert tools.index is not None
        report = tools.index.update([EXAMPLES / "documents"])
        assert report.passages > 40
        assert not report.errors
        yield tools
