"""vLLM: attached to where it runs, else started, used and stopped, whatever happens."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, SecretStr

from citeproof.errors import MissingExtraError, ModelError, SettingsError
from citeproof.models import keeper
from citeproof.models import vllm as module
from citeproof.models.vllm import VLLMServer, vllm_server
from citeproof.prompts import Prompt
from citeproof.settings import LLMSettings, ModelSettings, Settings
from citeproof.tools.llm.opening import open_llm
from tests.tools.openai_stub import Reply, serve

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="vLLM does not run on Windows")

STANDIN = Path(__file__).with_name("standin_vllm.py")
ASK = Prompt("System line.", "Question and passages.", "The task.")
BEGUN = replace(ASK, begun="It is old.")


class Cited(BaseModel):
    """One passage."""

    number: int


class Standin:
    """The stand-in program on the path, and what it noted."""

    def __init__(self, folder: Path) -> None:
        self.bin = folder / "bin"
        self.bin.mkdir()
        program = self.bin / "vllm"
        program.write_text(f"#!{sys.executable}\n{STANDIN.read_text()}")
        program.chmod(0o755)
        self.file = folder / "noted.jsonl"
        self.environment = {"PATH": f"{self.bin}{os.pathsep}{os.environ['PATH']}"}
        self.environment["STANDIN"] = str(self.file)

    @property
    def noted(self) -> list[dict[str, Any]]:
        if not self.file.exists():
            return []
        return [json.loads(line) for line in self.file.read_text().splitlines()]

    @property
    def starts(self) -> list[dict[str, Any]]:
        return [note for note in self.noted if "argv" in note]

    @property
    def requests(self) -> list[dict[str, Any]]:
        return [note["asked"] for note in self.noted if "asked" in note]

    def alive(self) -> list[int]:
        """Processes of the stand-in that still run."""
        return [pid for start in self.starts for pid in start["pids"] if _runs(pid)]

    def all_gone(self, seconds: float = 5.0) -> bool:
        end = time.monotonic() + seconds
        while self.alive() and time.monotonic() < end:
            time.sleep(0.05)
        return bool(self.starts) and not self.alive()


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    if not Path("/proc/self/stat").exists():
        return True
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    # A container's first process may not collect the dead.
    return stat.rpartition(")")[2].split()[0] != "Z"


@pytest.fixture
def standin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Standin]:
    found = Standin(tmp_path)
    for name, value in found.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(module, "_servers", {})
    yield found
    for server in module._servers.values():
        server.close()
    for pid in found.alive():
        os.kill(pid, signal.SIGKILL)


def test_what_is_started() -> None:
    server = VLLMServer("org/m", tensor_parallel=2, args="--max-model-len 8192 -O '{\"a\": 1}'")
    assert server.arguments[-1] == '{"a": 1}'
    assert " ".join(server.arguments[:-1]) == (
        f"serve org/m --host 127.0.0.1 --port {server.port} --tensor-parallel-size 2 "
        "--enable-prefix-caching --enable-prompt-tokens-details --max-model-len 8192 -O"
    )
    assert server.base_url == f"http://127.0.0.1:{server.port}/v1"
    assert server.api_key not in server.arguments
    assert len(server.api_key) > 20
    assert not server.running


async def test_it_is_started_used_and_stopped(
    standin: Standin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://192.0.2.1:9")
    settings = LLMSettings(model="vllm:org/m", tensor_parallel=2, vllm_args="--seed 3")
    llm = open_llm(settings, ModelSettings(offline=True), roles={"judge": settings})
    assert llm.name == "org/m on vLLM"
    [start] = standin.starts
    server = vllm_server(settings, ModelSettings(offline=True))
    assert start["argv"] == server.arguments
    assert start["env"] == {
        "VLLM_API_KEY": server.api_key,
        "VLLM_NO_USAGE_STATS": "1",
        "HF_HUB_OFFLINE": "1",
    }
    assert await llm.text(BEGUN) == " It is high."
    assert (await llm.for_role("judge").parse(ASK, Cited)).number == 4
    begun, parsed = standin.requests
    assert begun["model"] == "org/m"
    assert begun["messages"][-1] == {"role": "assistant", "content": "It is old."}
    assert (begun["continue_final_message"], begun["add_generation_prompt"]) == (True, False)
    assert parsed["response_format"]["type"] == "json_schema"
    assert parsed["response_format"]["json_schema"]["schema"]["required"] == ["number"]
    assert "continue_final_message" not in parsed
    assert len(standin.alive()) == 2
    llm.close()
    assert standin.all_gone()
    assert not server.running

    assert await llm.text(ASK) == " It is high."  # it starts again, where its clients look for it
    assert len(standin.starts) == 2
    llm.close()
    assert standin.all_gone()


def test_one_server_for_everybody(standin: Standin) -> None:
    models = ModelSettings()
    settings = LLMSettings(model="vllm:m")
    warmer = LLMSettings(model="vllm:m", temperature=1.0)
    with ThreadPoolExecutor(4) as pool:
        servers = set(pool.map(lambda one: vllm_server(one, models), [settings, warmer] * 2))
    assert len(servers) == len(standin.starts) == 1
    other = vllm_server(LLMSettings(model="vllm:m", vllm_args="--seed 3"), models)
    assert other not in servers
    assert other.port != next(iter(servers)).port
    assert "HF_HUB_OFFLINE" in standin.starts[0]["env"]
    assert standin.starts[0]["env"]["HF_HUB_OFFLINE"] is None


def test_one_that_ends_too_early_shows_its_log(standin: Standin) -> None:
    with pytest.raises(ModelError) as raised:
        open_llm(LLMSettings(model="vllm:broken"), ModelSettings())
    told = str(raised.value)
    assert "vLLM with broken ended before it was ready: exit status 1." in told
    assert told.endswith(
        "at 99\nRuntimeError: Engine core initialization failed. See root cause above."
    )
    assert "ValueError: the KV cache has no room" in told  # though it stands far above the end
    assert "at 5\n" not in told
    assert standin.all_gone()


def test_a_slow_start_is_told(standin: Standin) -> None:
    told: list[tuple[str, int, int]] = []

    def progress(label: str, done: int, total: int) -> None:
        told.append((label, done, total))

    open_llm(LLMSettings(model="vllm:slow"), ModelSettings(), progress=progress)
    assert {(label, total) for label, _, total in told} == {("vLLM with slow", 0)}
    seconds = [done for _, done, _ in told]
    assert seconds == sorted(seconds)
    assert seconds[0] == 0
    assert seconds[-1] >= 1


def test_an_interrupted_start_leaves_nothing(standin: Standin) -> None:
    def interrupt(label: str, done: int, total: int) -> None:
        if standin.starts:
            raise KeyboardInterrupt

    server = VLLMServer("slow")
    with pytest.raises(KeyboardInterrupt):
        server.start(interrupt)
    assert standin.starts
    assert standin.all_gone()
    assert not server.running


def test_a_start_can_be_called_off_from_another_thread(standin: Standin) -> None:
    server = VLLMServer("slow")
    with ThreadPoolExecutor(1) as pool:
        starting = pool.submit(server.start)
        while not standin.starts:
            time.sleep(0.05)
        server.close()
        with pytest.raises(ModelError, match="ended before it was ready"):
            starting.result()
    assert standin.all_gone()


async def test_a_crash_is_told_and_the_next_opening_starts_anew(standin: Standin) -> None:
    settings = LLMSettings(model="vllm:crashing", retries=2)
    llm = open_llm(settings, ModelSettings())
    llm._backoff = 0.2
    for _ in range(2):
        with pytest.raises(ModelError, match=r"has stopped: exit status 3(?s:.)*out of memory"):
            await llm.text(ASK)
    assert standin.all_gone()
    assert len(standin.starts) == len(standin.requests) == 1
    open_llm(settings, ModelSettings()).close()
    assert len(standin.starts) == 2
    assert standin.all_gone()


PARENT = """
import sys, time
from citeproof.models.vllm import vllm_server
from citeproof.settings import LLMSettings, ModelSettings
vllm_server(LLMSettings(model="vllm:m"), ModelSettings())
print("ready", flush=True)
time.sleep(float(sys.argv[1]))
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, None])
def test_it_does_not_outlive_its_parent(standin: Standin, how: signal.Signals | None) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, "0" if how is None else "60"],
        env={**os.environ, **standin.environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert parent.stdout is not None
    with parent.stdout:
        assert parent.stdout.readline() == b"ready\n"
        if how is not None:
            assert len(standin.alive()) == 2
            parent.send_signal(how)
        parent.wait(timeout=20)
    assert standin.all_gone()


def test_one_that_does_not_listen_is_killed(
    standin: Standin, monkeypatch: pytest.MonkeyPatch
) -> None:
    hasty = standin.bin / "keeper.py"
    text = Path(keeper.__file__).read_text()
    assert "PATIENCE = 10.0" in text
    hasty.write_text(text.replace("PATIENCE = 10.0", "PATIENCE = 0.3"))
    monkeypatch.setattr(keeper, "__file__", str(hasty))
    with closing(VLLMServer("stubborn").start()) as server:
        assert len(standin.alive()) == 2
        begun = time.monotonic()
    assert time.monotonic() - begun >= 0.3
    assert standin.all_gone()
    assert not server.running


def test_it_is_found_beside_an_interpreter_that_is_not_on_the_path_or_its_extra_is_named(
    standin: Standin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(standin.bin.parent))
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(standin.bin))
    with closing(VLLMServer("m").start()):
        assert len(standin.starts) == 1
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(standin.bin.parent))
    with pytest.raises(MissingExtraError, match=r'pip install "citeproof\[vllm\]".*llm.base_url'):
        open_llm(LLMSettings(model="vllm:m"), ModelSettings())


async def test_a_running_server_is_attached_to(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))  # nothing could be started
    with serve([Reply(" It is high.")]) as stub:
        settings = LLMSettings(model="vllm:org/m", base_url=stub.url, api_key=SecretStr("key-1"))
        llm = open_llm(settings, ModelSettings())
        assert llm.name == f"org/m at {stub.url}"
        assert await llm.text(BEGUN) == " It is high."
        llm.close()
    [request] = stub.requests
    assert request["model"] == "org/m"
    assert (request["continue_final_message"], request["add_generation_prompt"]) == (True, False)
    assert stub.keys == ["Bearer key-1"]


@pytest.mark.parametrize("base_url", [None, "http://127.0.0.1:1/v1"])
def test_a_model_must_be_named(base_url: str | None) -> None:
    with pytest.raises(SettingsError, match="Write vllm:MODEL"):
        open_llm(LLMSettings(model="vllm:", base_url=base_url), ModelSettings())


@pytest.mark.parametrize(
    ("args", "why"),
    [
        ("--port 8000", "--port is set by citeproof"),
        ("--seed 1 --api-key=abc", "--api-key=abc is set by citeproof"),
        ("--served_model_name x", "set by citeproof"),
        ("--chat-template 'x", "no closing quotation"),
    ],
)
def test_arguments_that_cannot_be_used(args: str, why: str) -> None:
    with pytest.raises(SettingsError, match=why):
        Settings.load(**{"llm.model": "vllm:m", "llm.vllm_args": args})
