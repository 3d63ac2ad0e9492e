"""`/api/documents`: added with progress, listed, looked at, removed; no path leaves the machine."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import httpx
import pytest
from openpyxl import Workbook

from citeproof.errors import StoreError
from citeproof.memory.index import Index
from tests.server.serving import client, events, names, toolbox, word_index

UPLOAD = {"x-citeproof": "upload"}
TOWER = "Ann Lee built the tower."


@pytest.fixture
def index(tmp_path: Path) -> Index:
    return word_index(tmp_path / "store")


@pytest.fixture
async def http(tmp_path: Path, index: Index) -> AsyncIterator[httpx.AsyncClient]:
    async with client(tmp_path / "store", toolbox(index=index)) as opened:
        yield opened
    index.close()


async def send(http: httpx.AsyncClient, **files: bytes) -> list[tuple[str, Any]]:
    given = [("files", (name.replace("__", "."), data)) for name, data in files.items()]
    response = await http.post("/api/documents", files=given, headers=UPLOAD)
    assert response.status_code == 200, response.text
    return events(response.text)


async def listed(http: httpx.AsyncClient) -> dict[str, Any]:
    found = (await http.get("/api/documents")).json()["documents"]
    return {own["name"]: own for own in found}


async def test_documents_come_and_go(http: httpx.AsyncClient, tmp_path: Path) -> None:
    told = await send(http, tower__md=TOWER.encode(), light__txt=b"It was lit in 1871.")
    assert names(told)[-1] == "report"
    assert "progress" in names(told)
    assert sorted(told[-1][1]["added"]) == ["light.txt", "tower.md"]
    assert str(tmp_path) not in str(told)
    there = await listed(http)
    assert set(there) == {"tower.md", "light.txt"}
    file = await http.get(there["tower.md"]["file"])
    assert file.text == TOWER
    assert "sandbox" in file.headers["content-security-policy"]
    assert (await http.delete(f"/api/documents/{there['tower.md']['id']}")).is_success
    assert set(await listed(http)) == {"light.txt"}
    assert not (tmp_path / "store/documents/tower.md").exists()
    assert (await http.delete(f"/api/documents/{there['tower.md']['id']}")).status_code == 404


async def test_files_of_the_same_name_are_told_apart(
    http: httpx.AsyncClient, tmp_path: Path, index: Index
) -> None:
    for folder in ("east", "west"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "readme.md").write_text(f"The {folder} tower is tall.")
    (tmp_path / "east/keepers.md").write_text(TOWER)
    index.update([tmp_path / "east", tmp_path / "west"])
    assert set(await listed(http)) == {"east/readme.md", "west/readme.md", "keepers.md"}


async def test_what_no_browser_shows_is_saved(http: httpx.AsyncClient) -> None:
    book = Workbook()
    book.active.append(["Tower", "Builder"])
    book.active.append(["East", "Ann Lee"])
    book.save(data := io.BytesIO())
    await send(http, towers__xlsx=data.getvalue())
    file = await http.get((await listed(http))["towers.xlsx"]["file"])
    assert file.content == data.getvalue()
    assert file.headers["content-disposition"].startswith("attachment")


async def test_a_file_of_the_same_name_is_replaced(http: httpx.AsyncClient, index: Index) -> None:
    await send(http, tower__md=TOWER.encode())
    told = await send(http, tower__md=b"Bo Ray built the tower.")
    assert told[-1][1]["updated"] == ["tower.md"]
    assert [own.text for own in index.passages()] == ["Bo Ray built the tower."]


async def test_what_cannot_be_read_is_not_kept(http: httpx.AsyncClient, tmp_path: Path) -> None:
    told = await send(http, empty__md=b" ")
    [(name, why)] = told[-1][1]["errors"]
    assert name == "empty.md"
    assert why.startswith("empty.md is empty")
    assert await listed(http) == {}
    assert list((tmp_path / "store/documents").iterdir()) == []


async def test_a_file_that_cannot_be_read_does_not_replace_another(
    http: httpx.AsyncClient, index: Index
) -> None:
    await send(http, tower__md=TOWER.encode())
    told = await send(http, tower__md=b" ")
    assert [name for name, _ in told[-1][1]["errors"]] == ["tower.md"]
    assert (told[-1][1]["removed"], told[-1][1]["passages"]) == ([], 1)
    assert [own.text for own in index.passages()] == [TOWER]
    file = await http.get((await listed(http))["tower.md"]["file"])
    assert file.content == TOWER.encode()


async def test_two_files_of_one_name_are_refused(http: httpx.AsyncClient, index: Index) -> None:
    files = [("files", (f"{folder}/tower.md", TOWER.encode())) for folder in "ab"]
    response = await http.post("/api/documents", files=files, headers=UPLOAD)
    assert response.status_code == 400
    assert "Two of the files have the same name" in response.text
    assert list(index.passages()) == []


@pytest.mark.parametrize("name", ["run.exe", ".md", "tower"])
async def test_only_known_formats_are_taken(http: httpx.AsyncClient, name: str) -> None:
    response = await http.post("/api/documents", files=[("files", (name, b"text"))], headers=UPLOAD)
    assert response.status_code == 400
    assert "cannot be read. Known endings: .csv" in response.json()["error"]["message"]


@pytest.mark.parametrize("letter", ["a", "文", "😀"])
async def test_a_long_name_keeps_its_end(http: httpx.AsyncClient, letter: str) -> None:
    name = f"{letter * 120}.txt"
    response = await http.post(
        "/api/documents", files=[("files", (name, b"It is tall."))], headers=UPLOAD
    )
    [kept] = events(response.text)[-1][1]["added"]
    assert name.endswith(kept)
    assert len(kept.encode()) <= 200


async def test_an_index_that_cannot_be_written_leaves_the_files(
    http: httpx.AsyncClient, index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await send(http, tower__md=TOWER.encode())
    monkeypatch.setattr(Index, "update", Mock(side_effect=StoreError("Another process writes it")))
    told = await send(http, tower__md=b"Bo Ray built the tower.", new__md=b"It is tall.")
    assert told[-1][0] == "error"
    [kept] = (tmp_path / "store/documents").iterdir()
    assert kept.read_bytes() == TOWER.encode()


async def test_content_that_had_another_name_is_kept(
    http: httpx.AsyncClient, tmp_path: Path
) -> None:
    await send(http, tower__md=TOWER.encode())
    (tmp_path / "store/documents/tower.md").unlink()
    told = await send(http, renamed__md=TOWER.encode())
    assert told[-1][1]["added"] == ["renamed.md"]
    assert (await http.get((await listed(http))["renamed.md"]["file"])).content == TOWER.encode()


async def test_a_document_without_a_file_may_have_a_long_name(
    http: httpx.AsyncClient, index: Index
) -> None:
    index.add([TOWER], ids=[name := "a" * 300])
    assert (await listed(http))[name]["file"] is None


async def test_the_name_of_a_text_is_no_file(
    http: httpx.AsyncClient, index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("notes.txt").write_text("A secret.")
    index.add([TOWER], ids=["notes.txt"])
    own = (await listed(http))["notes.txt"]
    assert own["file"] is None
    assert (await http.get(f"/api/documents/{own['id']}/file")).status_code == 404


async def test_a_name_leads_nowhere_else(http: httpx.AsyncClient, tmp_path: Path) -> None:
    files = [("files", ("../../evil.md", b"The tower is tall."))]
    response = await http.post("/api/documents", files=files, headers=UPLOAD)
    assert events(response.text)[-1][1]["added"] == ["evil.md"]
    assert (tmp_path / "store/documents/evil.md").is_file()


async def test_a_document_from_elsewhere_keeps_its_file(
    http: httpx.AsyncClient, index: Index, tmp_path: Path
) -> None:
    path = tmp_path / "mine.md"
    path.write_text(TOWER)
    index.update([path])
    own = (await listed(http))["mine.md"]
    assert (await http.delete(f"/api/documents/{own['id']}")).is_success
    assert path.is_file()
    assert index.count() == 0
    index.update([path])  # it may come back
    assert index.count() == 1


async def test_answers_name_their_documents_by_links(
    http: httpx.AsyncClient, tmp_path: Path
) -> None:
    await send(http, tower__md=TOWER.encode())
    body = {"question": "Who built the tower?", "parameters": {"max_claims": 1}}
    response = await http.post("/api/ask", json=body)
    assert str(tmp_path) not in response.text
    [passage] = events(response.text)[-1][1]["answer"]["passages"]
    assert passage["source"].startswith("http://localhost:8080/api/documents/")
    assert (await http.get(passage["source"])).text == TOWER
    run = events(response.text)[0][1]["run"]
    fragment = (await http.get(f"/runs/{run}")).text
    assert "Open the document</a>" in fragment
    for kind in ("", ".html", ".md", ".json"):
        assert str(tmp_path) not in (await http.get(f"/runs/{run}{kind}")).text


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("ask", {"question": "Who built it?", "stream": False}),
        ("check", {"text": "Ann Lee built the tower."}),
    ],
)
async def test_without_documents_nothing_is_answered_or_checked(
    http: httpx.AsyncClient, path: str, body: dict[str, Any]
) -> None:
    response = await http.post(f"/api/{path}", json=body)
    assert response.status_code == 400
    assert response.json()["error"]["message"].startswith("There are no documents yet")


async def test_documents_of_ones_own_retriever_are_not_to_be_had(tmp_path: Path) -> None:
    async with client(tmp_path / "store", toolbox()) as http:
        response = await http.get("/api/documents")
        assert response.status_code == 400
        assert "searches them with a retriever of its own" in response.json()["error"]["message"]
        [(name, told)] = await send(http, tower__md=TOWER.encode())
        assert name == "error"
        assert "neither be listed nor changed" in told["error"]["message"]
