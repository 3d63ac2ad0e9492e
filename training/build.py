"""Writes the training sets: one command that always writes the same files.

python -m training.build --data FOLDER --out FOLDER

Reads `passages.jsonl`, the question sets and `nli/*.jsonl` of a data folder, and writes

    made/   pairs made from SQuAD's questions, Wikipedia passages, and FEVER and SNLI rows
    final/  three fifths of each set that the measured model never saw, for the shipped model
    held/   the other two fifths, for calibration: no model is trained on them
    whole/  all questions of the sets that the measured model never saw; the others are in `nli/`
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Annotated, Any

import typer

from training import answers, contrasts, make
from training.claims import asserted
from training.rows import Row, lines, read, save

UNSEEN = ("mnli_val_m", "fm2", "wice_oracle", "wice_partial", "begin", "snli_test1k")
"""NLI sets that the measured model is not trained on."""

SEEN = ("squad", "qed", "2wiki", "hotpotqa", "musique")
"""Parts of the pool whose passages are used; the unseen question sets are not among them."""

QUESTIONS = ("nq", "asqa")
"""Question sets that the measured model is not trained on."""


def build(
    data: Annotated[Path, typer.Option(help="Folder of passages, questions and nli/.")],
    out: Annotated[Path, typer.Option(help="Folder to write the sets to.")],
) -> None:
    """Write all sets."""
    passages = lines(data / "passages.jsonl")
    pool = {p["id"]: make.Text(p["id"], p["title"], p["text"]) for p in passages}
    sources = {p["id"]: p["source"] for p in passages}
    unseen = {name: asked_of(data, name, pool) for name in QUESTIONS}
    free = apart(pool, {item.gold.title for items in unseen.values() for item in items})
    texts = [text for key, text in free.items() if sources[key] in SEEN]
    squad = asked_of(data, "squad", free)
    for name, rows in _made(data, free, squad, texts).items():
        save(out, f"made/{name}", rows)
    # Twins, and questions with the sentences around their answers.
    rng = Random(23)
    mixed_texts, mixed = rng.sample(texts, len(texts)), rng.sample(squad, len(squad))
    save(out, "made/twins", make.twins(mixed_texts[:7000], "wikipedia", rng))
    save(out, "made/squad_near", make.questions(mixed, free, rng, cropped=1, others=0))
    rng = Random(31)
    mixed = rng.sample(squad, len(squad))
    # Twice, because the wrong answers and the sentences around them are drawn anew.
    save(out, "made/asserted", dict.fromkeys(asserted([*mixed, *mixed], free, rng)))
    for name, asked in unseen.items():
        _split(out, f"asserted_{name}", list(asserted(asked, pool, rng, cropped=0)))
    rng = Random(11)
    for name, asked in unseen.items():
        rows = list(make.questions(asked, pool, rng, cropped=0, others=0))
        save(out, f"whole/questions_{name}", rows)
        _split(out, f"questions_{name}", rows)
    for name in UNSEEN:
        _split(out, name, list(read(data / "nli" / f"{name}.jsonl")))
    _read_closely(data, pool, free, unseen, out)


def _read_closely(
    data: Path,
    pool: Mapping[str, make.Text],
    free: Mapping[str, make.Text],
    unseen: Mapping[str, Sequence[make.Asked]],
    out: Path,
) -> None:
    """Write what needs close reading: texts that answer questions, siblings, and contrasts.

    The articles of SQuAD 2.0 and passages of other questions that are left out go to `held/`.
    """

    def put(name: str, rows: Iterable[Row]) -> None:
        save(out, name, dict.fromkeys(rows))

    rng = Random(41)
    squad2 = lines(data / "squad2_dev.jsonl")
    left_out = left_out_of(squad2)
    for folder, kept in (("held", True), ("final", False)):
        some = [row for row in squad2 if (row["title"] in left_out) is kept]
        put(f"{folder}/answers_squad2", answers.unanswerable(some, pool, rng))
    squad = [item for item in asked_of(data, "squad", free) if item.gold.title not in left_out]
    squad = rng.sample(squad, len(squad))
    put("final/answers_squad", answers.answering(squad[:1500], pool, rng))
    clapnq = [
        make.Asked(row["question"], tuple(row["answers"]), pool[row["gold_passages"][0]], "clapnq")
        for row in lines(data / "clapnq_dev.jsonl")
        if row["answerable"]
    ]
    sets = {**unseen, "clapnq": clapnq}
    for name, items in sets.items():
        for folder, kept in (("held", False), ("final", True)):
            chosen = [item for item in items if is_ours(item.gold.text) is kept]
            put(f"{folder}/answers_{name}", answers.answering(chosen, pool, rng))
            if name != "clapnq":
                put(f"{folder}/siblings_{name}", contrasts.siblings(chosen, pool, rng))
    squad = rng.sample(squad, len(squad))
    put("made/siblings", contrasts.siblings(squad[:2500], free, rng))
    put("made/swapped_titles", contrasts.swapped_titles(squad, free, rng))
    texts = [text for text in free.values() if text.title not in left_out]
    put("made/contrasts", contrasts.contrasts(texts, rng, 260))
    put("made/contrasts_more", contrasts.contrasts(texts, Random(141), 1500))


def apart(pool: Mapping[str, make.Text], titles: Collection[str]) -> dict[str, make.Text]:
    """The passages, by id, that share no sentence with the articles of these titles."""
    pieces = {key: make.pieces(text.text) for key, text in pool.items()}
    kept = set().union(*(pieces[key] for key, text in pool.items() if text.title in titles))
    return {
        key: text
        for key, text in pool.items()
        if text.title not in titles and kept.isdisjoint(pieces[key])
    }


def _made(
    data: Path,
    pool: Mapping[str, make.Text],
    squad: Sequence[make.Asked],
    texts: Sequence[make.Text],
) -> dict[str, list[Row]]:
    rng = Random(7)
    squad = rng.sample(squad, len(squad))
    made = {"squad_qa": list(make.questions(squad, pool, rng))}
    texts = rng.sample(texts, len(texts))
    made["sentences"] = list(make.sentences(texts[:9000], "wikipedia", rng))
    fever = list(read(data / "nli" / "fever_dev.jsonl"))
    snli = list(read(data / "nli" / "cad_snli.jsonl"))
    made["fever_neigh"] = list(make.neighbours(fever, rng))
    rng.shuffle(made["fever_neigh"])
    made["fever_neigh"] = made["fever_neigh"][:3000]

    def mostly_entailed(rows: Sequence[Row], share: float) -> list[Row]:
        return [row for row in rows if row.entailed or rng.random() < share]

    made["together"] = list(make.together(mostly_entailed(fever, 0.22), rng))[:1500]
    made["together"] += list(make.together(mostly_entailed(snli, 0.12), rng))[:700]
    made["among"] = list(make.among(rng.sample(fever, min(700, len(fever))), texts, rng))
    for rows in made.values():
        rng.shuffle(rows)
    return made


def _split(out: Path, name: str, rows: Sequence[Row]) -> None:
    """Split a set: three fifths for training, all rows of a premise or a group on the same side."""
    ours: list[Row] = []
    rest: list[Row] = []
    grouped = len({row.group for row in rows}) < len(rows)
    for row in rows:
        if row.source.endswith("/edited passage"):
            continue  # It might land on another side than the passage that it was made from.
        key = row.group if grouped else ""
        (ours if is_ours(key or _untitled(row.premise)) else rest).append(row)
    save(out, f"final/{name}", ours)
    save(out, f"held/{name}_rest", rest)


def is_ours(text: str) -> bool:
    """Whether pairs made from a text may be trained on, as for three fifths of all texts."""
    return _hash(text)[0] < 154


def left_out_of(squad2: Sequence[Mapping[str, Any]]) -> list[str]:
    """The three articles of SQuAD 2.0 whose questions no model is trained on."""
    return sorted({row["title"] for row in squad2}, key=_hash)[:3]


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def _untitled(premise: str) -> str:
    """The premise without its title line, which only some rows of a passage have."""
    return premise.partition("\n")[2] if premise.startswith("Title: ") else premise


def asked_of(data: Path, name: str, pool: Mapping[str, make.Text]) -> list[make.Asked]:
    """The questions of a set whose passages are in the pool."""
    return make.asked(lines(data / f"{name}_dev.jsonl"), pool, name)


if __name__ == "__main__":
    typer.run(build)
