from __future__ import annotations

import errno
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import huggingface_hub.constants
import pytest
from huggingface_hub.utils.tqdm import are_progress_bars_disabled

from citeproof.errors import CorruptModelError, FetchError, InputError
from citeproof.models import stamps, wheels
from citeproof.models.fetch import fetch, fetch_gguf, model_folder, named_gguf
from citeproof.models.manifest import EmbeddedModel, Hub, SourceFailed, Wheels
from citeproof.models.stamps import STAMP
from citeproof.settings import ModelSettings
from tests.models.parts import CONTENT, HUB, REGISTRY, WHEELS, FakePip, model_file, tiny
from tests.models.standin_hub import StandinHub, standin_hub
from tests.tools.documents.reading import zipped

NAME = "acme/tiny/m.gguf"


@pytest.fixture
def settings(tmp_path: Path) -> ModelSettings:
    return ModelSettings(cache=tmp_path)


@pytest.fixture(autouse=True)
def _own_hub_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The hub's client would take a file from the developer's own folder."""
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "hf"))


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[StandinHub]:
    with standin_hub(monkeypatch) as hub:
        hub.files[NAME] = CONTENT
        yield hub


Registry = Callable[..., FakePip]


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Registry:
    """Sets a registry up; without wheels of its own it has those of `tiny`."""

    def set_up(wheels_: dict[str, bytes] | None = None) -> FakePip:
        pip = FakePip(dict(WHEELS if wheels_ is None else wheels_))
        monkeypatch.setattr(wheels, "pip_download", pip)
        return pip

    return set_up


def left_over(settings: ModelSettings) -> list[str]:
    """What the cache holds beside finished models and locks."""
    assert settings.cache is not None
    root = settings.cache / "models" / ".partial"
    return sorted(p.name for p in root.rglob("*") if p.is_file())


def test_from_the_hub(
    settings: ModelSettings,
    hub: StandinHub,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TQDM_POSITION", "-1")  # the client's bars, also without a terminal
    hub.pause = 0.3
    seen: list[tuple[str, int, int]] = []
    path = fetch(tiny(HUB), settings, progress=lambda *step: seen.append(step))
    assert path == model_folder(tiny(HUB), settings) / "m.gguf"
    assert path.read_bytes() == CONTENT
    assert {(label, total) for label, _, total in seen} == {("test model", len(CONTENT))}
    assert seen[0][1] == 0
    assert seen[-1][1] == len(CONTENT)
    assert sorted(p.name for p in path.parent.iterdir()) == [".verified", "m.gguf"]
    assert left_over(settings) == []
    assert capfd.readouterr() == ("", "")
    assert not are_progress_bars_disabled()
    # The hub is told nothing but what is wanted.
    assert {path.split()[1] for path in hub.asked} == {"/acme/tiny/resolve/main/m.gguf"}
    assert not any("torch" in agent or "agent/" in agent for agent in hub.agents)


def test_a_download_that_ends_too_early_leaves_nothing_and_never_loads(
    settings: ModelSettings, hub: StandinHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    hub.breaks = [100] + [0] * 20
    with pytest.raises(FetchError, match=r"Hugging Face hub \(acme/tiny\): "):
        fetch(tiny(HUB), settings)
    assert not model_folder(tiny(HUB), settings).exists()
    assert left_over(settings) == []
    hub.breaks = []
    assert fetch(tiny(HUB), settings).read_bytes() == CONTENT


def test_what_a_killed_client_left_is_thrown_away(settings: ModelSettings, hub: StandinHub) -> None:
    ready = model_folder(tiny(HUB), settings).parent / ".partial" / "tiny" / "ready"
    notes = ready / ".cache" / "huggingface" / "download"
    notes.mkdir(parents=True)
    (notes / "x.incomplete").write_bytes(CONTENT[:99])
    (ready / "m.gguf").write_bytes(CONTENT[::-1])
    assert fetch(tiny(HUB), settings).read_bytes() == CONTENT
    assert left_over(settings) == []


def test_files_that_came_whole_are_kept(settings: ModelSettings, hub: StandinHub) -> None:
    files = (model_file("a.gguf", CONTENT), model_file("b/config.json", b"{}"))
    hub.files = {"acme/tiny/a.gguf": CONTENT, "acme/tiny/b/config.json": b"{}"}
    hub.small, hub.sends = {"acme/tiny/b/config.json"}, {"acme/tiny/b/config.json": b"{"}
    model = EmbeddedModel("tiny", "test model", "MIT", files, (HUB,))
    with pytest.raises(FetchError):
        fetch(model, settings)
    assert left_over(settings) == ["a.gguf"]
    hub.sends, hub.asked = {}, []
    folder = fetch(model, settings).parent
    assert (folder / "b" / "config.json").read_bytes() == b"{}"
    assert "GET /acme/tiny/resolve/main/a.gguf" not in hub.asked


def test_what_is_not_the_model_is_refused(settings: ModelSettings, hub: StandinHub) -> None:
    hub.files[NAME] = CONTENT[::-1]
    with pytest.raises(FetchError, match=r"the m\.gguf there is not that of this model"):
        fetch(tiny(HUB), settings)
    assert not any(asked.startswith("GET") for asked in hub.asked)
    hub.files[NAME], hub.sends[NAME] = CONTENT, CONTENT[::-1]
    with pytest.raises(FetchError, match="sha256 differs"):
        fetch(tiny(HUB), settings)
    hub.portal = True
    with pytest.raises(FetchError, match="is not that of this model"):
        fetch(tiny(HUB), settings)
    assert not model_folder(tiny(HUB), settings).exists()


def test_what_keeps_the_client_from_the_hub_is_told(
    settings: ModelSettings, hub: StandinHub, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
        with pytest.raises(FetchError, match="HF_HUB_OFFLINE"):
            fetch(tiny(HUB), settings)
        assert hub.asked == []
    with monkeypatch.context() as patched:
        patched.setenv("HTTP_PROXY", "nonsense://x")
        huggingface_hub.close_session()
        with pytest.raises(FetchError, match=r"proxy URL.*set HTTPS_PROXY"):
            fetch(tiny(HUB), settings)
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(FetchError, match=r'pip install "citeproof\[local\]"'):
        fetch(tiny(HUB), settings)
    registry()
    assert fetch(tiny(HUB, REGISTRY), settings).read_bytes() == CONTENT


def test_an_unreachable_hub_leads_to_the_registry(
    settings: ModelSettings, registry: Registry
) -> None:
    pip = registry()
    seen: list[int] = []
    path = fetch(tiny(HUB, REGISTRY), settings, progress=lambda *step: seen.append(step[1]))
    assert path.read_bytes() == CONTENT
    assert seen[-1] == len(CONTENT)
    assert sorted(pip.asked) == ["tiny-1==1.0", "tiny-2==1.0"]
    assert left_over(settings) == []


def test_a_silent_hub_does_not_hang(
    settings: ModelSettings, hub: StandinHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("citeproof.models.hub._PATIENCE", 0.05)
    hub.pause = 1
    start = time.monotonic()
    with pytest.raises(FetchError, match=r"hub \(acme/tiny\): no answer within"):
        fetch(tiny(HUB), settings)
    assert time.monotonic() - start < 0.9


SECOND = "tiny-2==1.0"


@pytest.mark.parametrize(
    ("offered", "told"),
    [
        ({}, "no matching distribution for tiny-2==1.0"),
        ({SECOND: WHEELS[SECOND][:-40]}, "without a readable wheel"),
    ],
)
def test_parts_that_are_there_are_not_downloaded_again(
    settings: ModelSettings, registry: Registry, offered: dict[str, bytes], told: str
) -> None:
    registry({"tiny-1==1.0": WHEELS["tiny-1==1.0"]} | offered)
    with pytest.raises(FetchError, match=told):
        fetch(tiny(REGISTRY), settings)
    again = registry()
    assert fetch(tiny(REGISTRY), settings).read_bytes() == CONTENT
    assert again.asked == [SECOND]


def test_a_wheel_of_other_content_is_refused(settings: ModelSettings, registry: Registry) -> None:
    registry(WHEELS | {SECOND: zipped({"tiny_2/02.bin": b"other"})})
    with pytest.raises(FetchError, match="sha256 differs"):
        fetch(tiny(REGISTRY), settings)
    assert left_over(settings) == []
    registry(WHEELS | {SECOND: zipped({"x": b""})})
    with pytest.raises(FetchError, match=r"does not contain a readable tiny_2/02\.bin"):
        fetch(tiny(REGISTRY), settings)


FILES = {"config.json": b"{}", "1_Pooling/config.json": b"[]"}


@pytest.mark.parametrize(
    ("source", "offered"),
    [
        pytest.param(
            Wheels("f==1", folder="f/model/"),
            {"f==1": zipped({f"f/model/{k}": v for k, v in FILES.items()})},
            id="the wheel's own folder",
        ),
        pytest.param(
            Wheels("p{n}==1", "p{n}/{n}.bin", 2, folder=""),
            {
                "p1==1": zipped({"p1/1.bin": zipped(FILES)[:99]}),
                "p2==1": zipped({"p2/2.bin": zipped(FILES)[99:]}),
            },
            id="a zip file in parts",
        ),
    ],
)
def test_a_model_of_several_files(
    settings: ModelSettings, registry: Registry, source: Wheels, offered: dict[str, bytes]
) -> None:
    files = tuple(model_file(name, content) for name, content in FILES.items())
    model = EmbeddedModel("folder", "test model", "MIT", files, (source,))
    registry(offered)
    folder = fetch(model, settings)
    assert folder == model_folder(model, settings)
    assert {n: (folder / n).read_bytes() for n in FILES} == FILES
    assert left_over(settings) == []


def test_all_reasons_are_told(settings: ModelSettings, hub: StandinHub, registry: Registry) -> None:
    hub.files = {}
    registry({})
    with pytest.raises(FetchError) as caught:
        fetch(tiny(HUB, REGISTRY), settings)
    text = str(caught.value)
    assert "hub (acme/tiny): 404 Client Error" in text
    assert "package registry (tiny-{n}==1.0): no matching distribution" in text
    assert "`llm.path`" in text
    assert "HTTPS_PROXY" in text


def test_offline(settings: ModelSettings, hub: StandinHub) -> None:
    offline = settings.model_copy(update={"offline": True})
    with pytest.raises(FetchError, match=r"it is missing, and `models\.offline` forbids"):
        fetch(tiny(HUB), offline)
    assert hub.asked == []
    path = fetch(tiny(HUB), settings)
    (path.parent / STAMP).unlink()
    assert fetch(tiny(HUB), offline) == path
    path.write_bytes(CONTENT[::-1])
    with pytest.raises(CorruptModelError, match="is damaged"):
        fetch(tiny(HUB), offline)


def test_a_damaged_model_is_replaced_once_a_good_one_is_there(
    settings: ModelSettings, hub: StandinHub
) -> None:
    path = fetch(tiny(HUB), settings)
    path.write_bytes(b"damaged")
    offered, hub.files = hub.files, {}
    with pytest.raises(FetchError):
        fetch(tiny(HUB), settings)
    assert path.read_bytes() == b"damaged"
    hub.files = offered
    fetch(tiny(HUB), settings)
    assert path.read_bytes() == CONTENT


def test_only_a_changed_file_is_hashed(
    settings: ModelSettings, hub: StandinHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = fetch(tiny(HUB), settings)
    hashed: list[Path] = []
    real = stamps.sha256

    def noted(path: Path) -> str:
        hashed.append(path)
        return real(path)

    monkeypatch.setattr(stamps, "sha256", noted)
    hub.asked.clear()
    assert fetch(tiny(HUB), settings) == path
    assert (hub.asked, hashed) == ([], [])
    os.utime(path, ns=(1, 1))
    fetch(tiny(HUB), settings)
    assert hashed == [path]
    fetch(tiny(HUB), settings)
    assert hashed == [path]


@pytest.mark.parametrize(("source", "times"), [(HUB, 1), (REGISTRY, 2.1)])
def test_too_little_room_is_seen_beforehand(
    settings: ModelSettings,
    hub: StandinHub,
    registry: Registry,
    monkeypatch: pytest.MonkeyPatch,
    source: Hub | Wheels,
    times: float,
) -> None:
    room = int(len(CONTENT) * times)
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=room - 1))
    pip = registry()
    with pytest.raises(FetchError, match="MB are needed and 0 MB are free"):
        fetch(tiny(source), settings)
    assert hub.asked == pip.asked == []
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=room + 1))
    assert fetch(tiny(source), settings).read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("failure", "told", "left"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "No space left.*Free some space", []),
        (KeyboardInterrupt(), None, ["tiny-1==1.0-py3-none-any.whl"]),
    ],
    ids=["the disk is full", "Ctrl-C, and the next fetch goes on"],
)
def test_what_stops_in_the_middle_leaves_nothing_in_place(
    settings: ModelSettings,
    monkeypatch: pytest.MonkeyPatch,
    failure: BaseException,
    told: str | None,
    left: list[str],
) -> None:
    def pip(requirement: str, folder: Path) -> None:
        if requirement == "tiny-2==1.0":
            raise failure
        FakePip()(requirement, folder)

    monkeypatch.setattr(wheels, "pip_download", pip)
    with pytest.raises((FetchError, KeyboardInterrupt), match=told):
        fetch(tiny(REGISTRY), settings)
    assert not model_folder(tiny(REGISTRY), settings).exists()
    assert left_over(settings) == left


def test_a_cache_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(FetchError, match=r"cannot be stored.*`models\.cache`"):
        fetch(tiny(HUB), ModelSettings(cache=tmp_path / "file"))


def test_a_good_model_needs_no_lock(
    settings: ModelSettings, hub: StandinHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its cache may be another user's, with a stamp that a copy has made void."""
    path = fetch(tiny(HUB), settings)
    os.utime(path, ns=(1, 1))

    def refuse(lock: Path) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(lock))

    monkeypatch.setattr("citeproof.models.fetch.FileLock", refuse)
    assert fetch(tiny(HUB), settings) == path
    path.write_bytes(CONTENT[::-1])
    with pytest.raises(FetchError, match="cannot be stored"):
        fetch(tiny(HUB), settings)


def slow_pip(requirement: str, folder: Path) -> None:
    with Path(os.environ["CITEPROOF_TEST_LOG"]).open("a") as log:
        log.write(f"{requirement}\n")
    time.sleep(0.2)
    FakePip()(requirement, folder)


def fetch_slowly(settings: ModelSettings) -> bytes:
    wheels.pip_download = slow_pip  # in a process of its own
    return fetch(tiny(REGISTRY), settings).read_bytes()


def test_one_process_downloads_and_the_others_wait(
    settings: ModelSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "log"
    monkeypatch.setenv("CITEPROOF_TEST_LOG", str(log))
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        assert pool.map(fetch_slowly, [settings] * 3, chunksize=1) == [CONTENT] * 3
    assert sorted(log.read_text().split()) == ["tiny-1==1.0", "tiny-2==1.0"]


def test_any_gguf_of_the_hub(settings: ModelSettings, hub: StandinHub) -> None:
    hub.files["acme/big/q4/b.GGUF"] = CONTENT
    path = fetch_gguf("hf:acme/big/q4/b.GGUF", settings)
    assert path.read_bytes() == CONTENT
    assert path.relative_to(settings.cache or "") == Path(
        "models", "acme--big--q4--b.GGUF", "q4", "b.GGUF"
    )
    hub.asked.clear()
    assert fetch_gguf("hf:acme/big/q4/b.GGUF", settings) == path
    assert hub.asked == ["HEAD /acme/big/resolve/main/q4/b.GGUF"]


def test_a_gguf_in_parts_comes_as_a_whole(settings: ModelSettings, hub: StandinHub) -> None:
    for n in (1, 2):
        hub.files[f"acme/big/b-{n:05}-of-00002.gguf"] = CONTENT + bytes([n])
    path = fetch_gguf("hf:acme/big/b-00002-of-00002.gguf", settings)
    assert path.name == "b-00001-of-00002.gguf"
    assert path.with_name("b-00002-of-00002.gguf").read_bytes() == CONTENT + b"\x02"


def test_a_gguf_is_checked_by_the_hub_s_hash(settings: ModelSettings, hub: StandinHub) -> None:
    hub.sends[NAME] = CONTENT[::-1]
    with pytest.raises(FetchError, match="sha256 differs"):
        fetch_gguf(f"hf:{NAME}", settings)
    hub.small = {NAME}
    with pytest.raises(FetchError, match=r"the hub names no sha256 for m\.gguf"):
        fetch_gguf(f"hf:{NAME}", settings)
    hub.small, hub.sends, hub.files[NAME] = set(), {}, b"PK and more"
    with pytest.raises(CorruptModelError, match="does not begin with GGUF"):
        fetch_gguf(f"hf:{NAME}", settings)


def test_a_gguf_that_cannot_be_had(settings: ModelSettings, hub: StandinHub) -> None:
    with pytest.raises(FetchError, match=r"hf:acme/no/n\.gguf cannot be looked up.*404"):
        fetch_gguf("hf:acme/no/n.gguf", settings)
    hub.gated = True
    with pytest.raises(FetchError, match=r"(?s)gated.*HF_TOKEN"):
        fetch_gguf(f"hf:{NAME}", settings)
    hub.asked.clear()
    with pytest.raises(FetchError, match=r"`models\.offline` forbids"):
        fetch_gguf(f"hf:{NAME}", settings.model_copy(update={"offline": True}))
    assert hub.asked == []


@pytest.mark.parametrize(
    "reference",
    ["hf:acme/m.gguf", "hf:acme/tiny/m.bin", "hf:acme/tiny/../m.gguf", "hf:a b/c/d.gguf"],
)
def test_what_names_no_gguf(settings: ModelSettings, reference: str) -> None:
    with pytest.raises(InputError, match="hf:OWNER/REPO/FILE.gguf"):
        fetch_gguf(reference, settings)


def test_a_gguf_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FetchError, match="No such file"):
        named_gguf(tmp_path / "none.gguf")


def test_pip_tells_its_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    (tmp_path / "json.py").write_text("raise SystemExit(3)")
    monkeypatch.chdir(tmp_path)  # a stranger's modules are not run
    with pytest.raises(SourceFailed, match="No matching distribution found for tiny-1==1.0"):
        wheels.pip_download("tiny-1==1.0", tmp_path)
