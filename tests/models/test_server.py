from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from citeproof.errors import CorruptModelError, MissingExtraError, ModelError
from citeproof.models import server as module
from citeproof.models.server import LocalServer, close_servers, local_server
from citeproof.settings import LLMSettings, ModelSettings


class Engine(ModuleType):
    """xllamacpp, but nothing is loaded and nobody listens."""

    def __init__(self) -> None:
        super().__init__("xllamacpp")
        self.__spec__ = SimpleNamespace()  # type: ignore[assignment]
        self.started: list[Any] = []
        self.stopped = 0
        self.refuse = False
        self.taken: set[int] = set()
        engine = self

        def params() -> SimpleNamespace:
            return SimpleNamespace(
                n_batch=2048,
                n_ubatch=512,
                model=SimpleNamespace(),
                cpuparams=SimpleNamespace(),
                cpuparams_batch=SimpleNamespace(),
            )

        class Server:
            def __init__(self, given: Any) -> None:
                if engine.refuse or given.port in engine.taken:
                    raise RuntimeError("Failed to init server")
                engine.started.append(given)
                port = given.port or 5000 + len(engine.started)
                self.listening_address = f"http://127.0.0.1:{port}"

            def __del__(self) -> None:
                engine.stopped += 1

        self.CommonParams = params
        self.llama_load_mode = SimpleNamespace(LLAMA_LOAD_MODE_NONE=0)
        self.Server = Server


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    fake = Engine()
    monkeypatch.setitem(sys.modules, "xllamacpp", fake)
    monkeypatch.setattr(module, "_servers", {})
    return fake


@pytest.fixture
def gguf(tmp_path: Path) -> Path:
    path = tmp_path / "m.gguf"
    path.write_bytes(b"GGUF")
    return path


def test_it_listens_on_loopback_with_a_key_of_its_own(engine: Engine, gguf: Path) -> None:
    with closing(LocalServer(gguf, context=2048, threads=3).start()) as server:
        assert server.base_url == "http://127.0.0.1:5001/v1"
        (given,) = engine.started
        assert given.hostnames == ["127.0.0.1"]
        assert given.api_keys == [server.api_key]
        assert len(server.api_key) > 20
        assert (given.n_ctx, given.cpuparams.n_threads) == (2048, 3)
        assert given.n_batch == given.n_ubatch  # after each piece it looks whether it is to stop
        assert given.model_alias == {"local"}
        assert str(gguf) not in str(given.model_alias)
    assert engine.stopped == 1


def test_it_starts_again_on_its_old_port(engine: Engine, gguf: Path) -> None:
    server = LocalServer(gguf)
    assert engine.started == []
    before = server.base_url
    server.close()
    assert server.base_url == before
    server.close()
    engine.taken.add(5001)
    assert server.base_url == "http://127.0.0.1:5003/v1"


def test_one_server_for_everybody(engine: Engine, gguf: Path) -> None:
    settings, models = LLMSettings(path=gguf), ModelSettings(offline=True)
    with ThreadPoolExecutor(8) as pool:
        servers = set(pool.map(lambda _: local_server(settings, models).start(), range(8)))
    assert len(servers) == len(engine.started) == 1
    other = local_server(LLMSettings(path=gguf, context=2048), models).start()
    assert other not in servers
    close_servers()
    assert engine.stopped == 2
    assert local_server(settings, models) in servers


def test_a_file_that_is_refused_or_is_no_model(engine: Engine, gguf: Path) -> None:
    engine.refuse = True
    with pytest.raises(ModelError, match=r"cannot be loaded.*too little memory"):
        local_server(LLMSettings(path=gguf), ModelSettings()).start()
    gguf.write_bytes(b"text")
    with pytest.raises(CorruptModelError, match="not a GGUF"):
        local_server(LLMSettings(path=gguf), ModelSettings())


def test_the_extra_is_named_before_anything_is_downloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(MissingExtraError, match=r'pip install "citeproof\[local\]"'):
        local_server(LLMSettings(), ModelSettings(offline=True))
