"""The memory bank: what is added is found again, whole, in its namespace, by what its kind says."""

from __future__ import annotations

import asyncio
import json
import math
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from citeproof.cases import parse_entries, summarize
from citeproof.errors import InputError, ModelError, SettingsError, StoreError
from citeproof.memory import bank as banks
from citeproof.memory.bank import KINDS, Bank, Entry, ImportReport
from citeproof.settings import ChromaSettings
from citeproof.tools.retrieval.case_vectors import CaseEncoder
from citeproof.types import Passage
from tests.memory.fakes import WordEmbeddings, best, case

MEMORY = ChromaSettings(in_memory=True)


@pytest.fixture
def embeddings() -> WordEmbeddings:
    return WordEmbeddings(dimension=256)


@pytest.fixture
def bank(embeddings: WordEmbeddings) -> Iterator[Bank]:
    bank = Bank.open(MEMORY, embeddings)
    yield bank
    bank.close()


@pytest.fixture
async def folder(tmp_path: Path, embeddings: WordEmbeddings) -> AsyncIterator[Bank]:
    bank = Bank.open(ChromaSettings(path=tmp_path / "store"), embeddings)
    yield bank
    bank.close()


async def test_a_case_is_found_again_as_three_snippets(bank: Bank) -> None:
    key = await bank.add(case("tide"))
    for kind in KINDS:
        found = await best(bank, case("tide"), kind)
        assert (found.id, found.case_id, found.kind) == (f"{key}-{kind}", key, kind)
        assert found.case == case("tide")
        assert found.similarity == pytest.approx(1.0, abs=1e-3)
        assert found.rationale == ""
        assert abs((datetime.now(UTC) - found.created).total_seconds()) < 60


async def test_an_empty_namespace_finds_nothing_and_loads_no_model(
    bank: Bank, embeddings: WordEmbeddings
) -> None:
    assert await bank.best("generation", question="what", passages=[]) is None
    assert embeddings.embedded == []


async def test_each_kind_is_found_with_its_own_parts(bank: Bank) -> None:
    # Four cases that are alike but in one part each; each part counts only from its kind on.
    asked = case("tide")
    others = {
        "question": case("tide", question="moon moon moon"),
        "passages": case("tide", passages=(Passage(id="m", text="moon moon moon"),)),
        "answer": case("tide", answer="moon moon moon"),
        "feedback": case("tide", feedback="moon moon moon", final="another"),
    }
    alike: dict[str, list[bool]] = {}
    for name, other in others.items():
        space = bank.within(name)
        await space.add(other)
        found = [await best(space, asked, kind) for kind in KINDS]
        alike[name] = [(one.similarity or 0.0) > 0.999 for one in found]
    assert alike == {
        "question": [False, False, False],
        "passages": [False, False, False],
        "answer": [True, False, False],
        "feedback": [True, True, False],
    }


async def test_the_parts_weigh_equally_and_a_long_one_is_read_to_its_end(
    bank: Bank, embeddings: WordEmbeddings
) -> None:
    long = Passage(id="long", text=" ".join(f"sheep{n}" for n in range(600)) + " lighthouse")
    await bank.add(case("tide", passages=(long,)))
    pieces = [text for text in embeddings.embedded if "sheep" in text]
    assert all(len(piece) <= 600 for piece in pieces)
    assert sum(piece.count("sheep") for piece in pieces) == 600
    assert pieces[-1].endswith("lighthouse")
    vectors = CaseEncoder(embeddings).vectors([("one two", ("three", "four"), "", "")])[0]
    units = [
        [x / math.hypot(*v) for x in v]
        for v in map(embeddings.embed_query, ["one two", "three", "four"])
    ]
    second = [a + b for a, b in zip(units[1], units[2], strict=True)]
    both = [a + b / math.hypot(*second) for a, b in zip(units[0], second, strict=True)]
    assert vectors["generation"] == pytest.approx([x / math.hypot(*both) for x in both], abs=1e-5)
    assert (vectors["planning"] == vectors["generation"]).all()


async def test_other_scripts_are_cut_shorter(bank: Bank, embeddings: WordEmbeddings) -> None:
    await bank.add(
        case(
            "tide", passages=(Passage(id="c", text="".join(map(chr, range(0x6F6E, 0x6F6E + 500)))),)
        )
    )
    assert [len(text) for text in embeddings.embedded if not text.isascii()] == [200, 200, 100]


async def test_ranks_go_from_the_best_match_to_the_last(bank: Bank) -> None:
    near, far = case("tide sea"), case("hill")
    for one in (far, near, case("tide")):
        await bank.add(one)
    ranked = [await best(bank, case("tide"), rank=rank) for rank in (1, 2, 3, 4, 99)]
    assert [found.case for found in ranked] == [case("tide"), near, far, far, far]
    similar = [found.similarity or 0.0 for found in ranked]
    assert similar == sorted(similar, reverse=True)
    with pytest.raises(InputError, match="rank 0"):
        await best(bank, near, rank=0)
    with pytest.raises(InputError, match="question is empty"):
        await bank.best("generation", question=" ", passages=[])


async def test_only_cases_with_actions_are_found_for_planning(
    folder: Bank, tmp_path: Path, embeddings: WordEmbeddings
) -> None:
    near, far = case("tide", actions=()), case("hill")
    await folder.add(near)
    asked: dict[str, Any] = {"question": near.question, "passages": near.passages}
    assert await folder.best("planning", **asked) is None
    key = await folder.add(far)
    folder.close()
    again = Bank.open(ChromaSettings(path=tmp_path / "store"), embeddings)
    found = [(await best(again, near, kind)).case for kind in KINDS]
    assert found == [near, near, far]
    assert (await best(again, near, "planning", rank=2)).case == far
    assert (await best(again, near, "assessment", rank=2)).case == far
    await again.delete(key)
    assert await again.best("planning", **asked) is None
    again.close()


async def test_namespaces_are_apart(bank: Bank) -> None:
    other = bank.within("other")
    await bank.add(case("tide"))
    assert await best(bank, case("hill"))
    assert await other.best("generation", question="what is tide", passages=[]) is None
    await other.add(case("hill"))
    assert (await best(other, case("tide"))).case == case("hill")
    assert (await bank.count(), await other.count()) == (1, 1)
    assert [entry.namespace for entry in await bank.cases(everywhere=True)] == ["default", "other"]
    assert [entry.namespace for entry in await other.cases()] == ["other"]
    with pytest.raises(SettingsError, match="namespace"):
        bank.within("../x")
    other.close()
    bank.close()


async def test_the_same_question_over_the_same_passages_replaces_the_older_case(bank: Bank) -> None:
    first = await bank.add(case("tide"))
    await bank.keep_rationale(f"{first}-planning", "Old reasons.")
    second = await bank.add(case("tide", question=" WHAT is  tide", final="Better [1]."))
    assert first != second
    assert await bank.get(first) is None
    assert (await best(bank, case("tide"), "planning")).rationale == ""
    assert [entry.id for entry in await bank.cases()] == [second]
    await bank.add(case("tide", passages=case("hill").passages))
    assert await bank.count() == 2


@pytest.mark.parametrize("how", ["add", "import"])
async def test_a_case_that_should_have_been_replaced_is_replaced_when_it_is_tried_again(
    bank: Bank, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    await bank.add(case("tide"))
    newer, write = case("tide", final="Newer [1]."), bank._store.write

    def cut_off(held: Any, act: Any, ids: Any, **columns: Any) -> None:
        if act == "delete":
            raise StoreError("The server is gone")
        write(held, act, ids, **columns)

    with monkeypatch.context() as patched:
        patched.setattr(bank._store, "write", cut_off)
        with pytest.raises(StoreError, match="gone"):
            await bank.add(newer)
    [_, entry] = await bank.cases()
    if how == "add":
        await bank.add(newer)
    else:
        assert await bank.import_([entry]) == ImportReport(skipped=1)
    assert await bank.cases() == [entry]


async def test_the_same_case_again_changes_nothing(bank: Bank) -> None:
    key = await bank.add(case("tide"))
    await bank.keep_rationale(f"{key}-generation", "Reasons.")
    before = await bank.get(key)
    assert await bank.add(case("tide")) == key
    assert await bank.get(key) == before
    # A case that had been replaced comes back when it is added once more.
    await bank.add(case("tide", final="Other [1]."))
    assert await bank.add(case("tide")) == key
    assert [entry.case.final for entry in await bank.cases()] == [case("tide").final]


async def test_a_case_that_is_added_last_counts_whatever_the_clock_says(
    bank: Bank, monkeypatch: pytest.MonkeyPatch
) -> None:
    await bank.add(case("tide"))

    class Slow(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Slow:
            return cls(2001, 1, 1, tzinfo=tz)

    monkeypatch.setattr(banks, "datetime", Slow)
    await bank.add(case("tide", final="Later [1]."))
    assert [entry.case.final for entry in await bank.cases()] == ["Later [1]."]


async def test_the_first_rationale_stays(bank: Bank) -> None:
    key = await bank.add(case("tide"))
    assert await bank.keep_rationale(f"{key}-planning", "First.") == "First."
    assert await bank.keep_rationale(f"{key}-planning", "Second.") == "First."
    assert (await best(bank, case("tide"), "planning")).rationale == "First."
    assert (await best(bank, case("tide"), "assessment")).rationale == ""
    assert await bank.keep_rationale("0123456789abcdef-planning", "Of nothing.") == "Of nothing."
    assert await bank.keep_rationale(key, "Of no snippet.") == "Of no snippet."
    entry = await bank.get(key)
    assert entry is not None
    assert entry.rationales == {"planning": "First."}
    with pytest.raises(InputError, match="empty"):
        await bank.keep_rationale(f"{key}-planning", " ")


async def test_many_at_once_keep_one_rationale(folder: Bank) -> None:
    key = await folder.add(case("tide"))
    kept = await asyncio.gather(
        *(folder.keep_rationale(f"{key}-planning", f"Reasons {n}.") for n in range(8))
    )
    assert len(set(kept)) == 1


async def test_a_bank_that_nobody_writes_is_not_made(tmp_path: Path) -> None:
    store = tmp_path / "store"
    bank = Bank.open(ChromaSettings(path=store), None)
    assert (await bank.count(), await bank.cases(), await bank.get("x")) == (0, [], None)
    assert not await bank.delete("x")
    assert await bank.keep_rationale("x-planning", "Why.") == "Why."
    statistics = summarize(await bank.cases())
    assert (statistics.cases, statistics.mean_score) == (0, None)
    bank.close()
    assert not store.exists()


async def test_delete_and_get(bank: Bank) -> None:
    key = await bank.within("other").add(case("tide"))
    await bank.keep_rationale(f"{key}-planning", "Reasons.")
    entry = await bank.get(key)
    assert entry is not None
    assert (entry.namespace, entry.case, entry.embedder) == ("other", case("tide"), "words")
    assert await bank.delete(key)
    assert not await bank.delete(key)
    assert await bank.get(key) is None


async def lines(bank: Bank) -> list[str]:
    return [entry.model_dump_json() for entry in await bank.cases(everywhere=True)]


async def test_an_export_comes_back_whole(bank: Bank, embeddings: WordEmbeddings) -> None:
    key = await bank.add(case("tide"))
    for kind in KINDS:
        await bank.keep_rationale(f"{key}-{kind}", f"Why {kind}.")
    await best(bank, case("tide"))
    await bank.within("other").add(case("hill", score=None))
    exported = await lines(bank)
    assert json.loads(exported[0])["rationales"]["planning"] == "Why planning."
    seen: list[tuple[int, int]] = []
    new = Bank.open(MEMORY, embeddings)
    report = await new.import_(
        parse_entries([*exported, "\n"]), progress=lambda *done: seen.append(done)
    )
    assert report == ImportReport(added=2)
    assert seen == [(2, 2)]
    assert await lines(new) == exported
    assert (await best(new, case("tide"), "planning")).rationale == "Why planning."
    new.close()


async def test_the_newer_case_wins_an_import(bank: Bank) -> None:
    await bank.add(case("tide"))
    (old,) = await lines(bank)
    await bank.add(case("tide", final="Newer [1]."))
    (new,) = await lines(bank)
    assert await bank.import_(parse_entries([old])) == ImportReport(skipped=1)
    assert await lines(bank) == [new]
    other = Bank.open(MEMORY, WordEmbeddings(dimension=256))
    assert await other.import_(parse_entries([old])) == ImportReport(added=1)
    assert await other.import_(parse_entries([new, old, new])) == ImportReport(added=1, skipped=2)
    assert await lines(other) == [new]
    other.close()


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ("{", "line 2 is no case: Invalid JSON"),
        ('{"namespace": "x"}', "line 2 is no case: case: Field required"),
        ('{"namespace": "a/b", "case": {}, "created": 0}', "line 2 is no case: namespace"),
    ],
)
def test_a_bad_line_is_named(bad: str, why: str) -> None:
    good = Entry(namespace="default", case=case("tide"), created=datetime.now(UTC))
    with pytest.raises(InputError, match=why):
        parse_entries([good.model_dump_json(), bad], source="x.jsonl")


async def test_an_import_that_is_interrupted_can_be_done_again(
    bank: Bank, embeddings: WordEmbeddings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(banks, "_CHUNK", 2)
    source = Bank.open(MEMORY, embeddings)
    for name in "abcde":
        await source.add(case(name))
    exported = await lines(source)
    source.close()
    embeddings.fail_at = len(embeddings.embedded) + 18
    with pytest.raises(ModelError, match="out of memory"):
        await bank.import_(parse_entries(exported))
    assert await bank.count() == 4
    embeddings.fail_at = None
    assert await bank.import_(parse_entries(exported)) == ImportReport(added=1, skipped=4)
    assert await lines(bank) == exported


async def test_another_model_is_refused_until_the_bank_is_rebuilt(
    folder: Bank, tmp_path: Path
) -> None:
    settings, larger = ChromaSettings(path=tmp_path / "store"), WordEmbeddings("larger", 512)
    await folder.add(case("tide"))
    await folder.within("other").add(case("hill"))
    exported = await lines(folder)
    with closing(Bank.open(settings, larger)) as other:
        with pytest.raises(StoreError, match=r"from words, and the settings say larger.*--rebuild"):
            await best(other, case("tide"))
        with pytest.raises(StoreError, match="--rebuild"):
            await other.add(case("sea"))
        larger.fail_at = 0
        with pytest.raises(ModelError):
            await other.import_(parse_entries(exported), rebuild=True)
        assert await lines(folder) == exported, "the old one stays until the new one is there"
        larger.fail_at = None
        rebuilt = await other.import_(parse_entries(exported[:1]), rebuild=True)
        assert rebuilt == ImportReport(added=1)
        assert (await best(other, case("hill"))).case == case("tide")
        assert summarize(await other.cases(everywhere=True)).embedder == "larger"
    with (
        closing(Bank.open(settings, WordEmbeddings("larger", 64))) as same_name,
        pytest.raises(StoreError, match="dimension of 512"),
    ):
        await best(same_name, case("tide"))


async def test_a_store_that_is_deleted_is_empty(folder: Bank, tmp_path: Path) -> None:
    await folder.add(case("tide"))
    shutil.rmtree(tmp_path / "store")
    assert await folder.count() == 0
    assert await folder.best("generation", question="what is tide", passages=[]) is None
    await folder.add(case("sea"))
    assert await folder.count() == 1


async def test_cases_that_cannot_be_kept(bank: Bank, embeddings: WordEmbeddings) -> None:
    for name in ("question", "answer", "final"):
        with pytest.raises(InputError, match="empty"):
            await bank.add(case("tide", **{name: " "}))
    with pytest.raises(ValidationError):
        case("tide", score=1.5)
    embeddings.fail_at = 0
    with pytest.raises(ModelError, match="out of memory"):
        await bank.add(case("tide"))
    assert await bank.count() == 0


async def test_a_bank_without_a_model_is_only_looked_at(bank: Bank) -> None:
    looked = Bank(bank._store, bank._name, None, "default")
    await bank.add(case("tide"))
    assert await looked.count() == 1
    with pytest.raises(SettingsError, match="without an embedding model"):
        await best(looked, case("tide"))
    with pytest.raises(SettingsError, match="without an embedding model"):
        await looked.add(case("hill"))
