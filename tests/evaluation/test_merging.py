from __future__ import annotations

import json
from pathlib import Path

import pytest

from citeproof import Toolbox
from citeproof.errors import InputError
from citeproof.evaluation.manifest import require_manifest
from citeproof.evaluation.merging import Shard, merge
from citeproof.evaluation.runner import run
from tests import command
from tests.evaluation.scripted import examples, reply, rows, toolbox, write
from tests.evaluation.test_runner import lines, vtg


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder; the tools that commands open are scripted."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Toolbox, "from_settings", lambda *_, **__: toolbox())
    return tmp_path


def test_shards_part_the_examples_in_their_order(tmp_path: Path) -> None:
    asked = examples(tmp_path, 7)
    parts = [Shard.parse(f"{n}/3").of(asked) for n in (1, 2, 3)]
    assert [len(part) for part in parts] == [2, 2, 3]
    assert [one for part in parts for one in part] == asked


@pytest.mark.parametrize("text", ["", "2", "0/2", "3/2", "a/b", "-1/2"])
def test_what_is_no_shard_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"There is no shard .*Write 2/4"):
        Shard.parse(text)


def test_merged_shards_are_the_run_that_was_not_parted(folder: Path) -> None:
    write(folder / "numbers.jsonl", 5)
    asking = ["eval", "--data", "numbers.jsonl", "--set", "max_claims=1", "--trace"]
    for more in (["--out", "all"], *(["--out", f"{n}", "--shard", f"{n}/2"] for n in (1, 2))):
        command.run([*asking, *more], 0)
    result = command.run(["merge", "1", "2", "--out", "merged"])
    assert result.output == "5 answers, 0 errors, 0 waiting\nRun: merged\n"
    assert lines(Path("merged")) == lines(Path("all"))
    for name in ("examples.jsonl", "alce.json"):
        assert Path("merged", name).read_bytes() == Path("all", name).read_bytes()
    assert len(list(Path("merged/traces").iterdir())) == 5
    assert '"Which colour has number 4?"' in Path("merged/traces/5.jsonl").read_text("utf-8")
    there, whole = require_manifest(Path("merged")), require_manifest(Path("all"))
    assert (there.data, len(there.sittings)) == (whole.data, 2)
    result = command.run([*asking, "--out", "merged", "--resume"], 0)
    assert "answered · " not in result.stderr  # nothing is asked again


@pytest.mark.usefixtures("folder")
def test_shards_have_the_parameters_of_the_whole() -> None:
    asked = [{**row, "task": "qa"} if n < 2 else row for n, row in enumerate(rows(4))]
    asked[3]["docs"] = asked[3]["docs"][:0]
    Path("mixed.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in asked), "utf-8")
    asking = ["eval", "--data", "mixed.jsonl", "--method", "vanilla"]
    for n in (1, 2):
        command.run([*asking, "--shard", f"{n}/2", "--out", f"{n}"])
    parameters = [require_manifest(Path(f"{n}")).parameters for n in (1, 2)]
    assert parameters[0] == parameters[1]
    assert not parameters[0]["ranked"]
    command.run(["merge", "1", "2", "--out", "merged"], 0)


async def test_what_is_missing_stays_missing_and_an_error_gives_way(tmp_path: Path) -> None:
    def fails(prompt: str) -> str:
        if "number 1?" in prompt:
            raise ValueError("no answer")
        return reply(prompt)

    asked = examples(tmp_path, 3)
    await run(vtg(fails), "vtg", asked[:2], tmp_path / "a")
    await run(vtg(), "vtg", asked[1:], tmp_path / "b")
    results = tmp_path / "b/results.jsonl"
    results.write_text(results.read_text("utf-8").splitlines(keepends=True)[0], "utf-8")
    manifest = merge([tmp_path / "a", tmp_path / "b"], tmp_path / "c")
    assert [(line["id"], line["error"]) for line in lines(tmp_path / "c")] == [
        ("q0", None),
        ("q1", None),
    ]
    assert (manifest.totals.answered, manifest.totals.errors, manifest.totals.waiting) == (2, 0, 1)
    assert not (tmp_path / "c/alce.json").exists()


async def test_what_cannot_be_merged_is_told(tmp_path: Path) -> None:
    asked = examples(tmp_path, 2)
    await run(vtg(), "vtg", asked[:1], tmp_path / "a")
    await run(vtg(), "other", asked[1:], tmp_path / "b")
    other = [asked[0].model_copy(update={"question": "Which colour has number 1?"})]
    await run(vtg(), "vtg", other, tmp_path / "c")
    for folders, out, message in [
        (["a", "b"], "d", r"b cannot be merged with .*a: .* method \(vtg there, other here\)"),
        (["a", "c"], "d", "Two examples have the id 'q0'"),
        (["a", "none"], "d", "none is no run"),
        (["a"], "b", "b is not empty"),
        ([], "d", "There is nothing to merge"),
    ]:
        with pytest.raises(InputError, match=message):
            merge([tmp_path / name for name in folders], tmp_path / out)
    assert not (tmp_path / "d").exists()
