from __future__ import annotations

import re

from citeproof.models.manifest import EMBEDDED, Hub, Wheels


def test_every_model_is_complete_data() -> None:
    assert len({model.name for model in EMBEDDED}) == len(EMBEDDED)
    for model in EMBEDDED:
        assert model.licence == "Apache-2.0"
        assert isinstance(model.sources[0], Hub)
        for file in model.files:
            assert re.fullmatch(r"[0-9a-f]{64}", file.sha256)
            assert file.size > 0
            assert ".." not in file.name
            assert not file.name.startswith("/")
        for source in model.sources:
            if isinstance(source, Wheels) and source.folder is None:
                assert len(model.files) == 1
