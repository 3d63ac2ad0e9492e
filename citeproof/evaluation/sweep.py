"""Sweeps: a TOML file that says which runs to make, one for each combination.

    [base]                    # what all runs share; --data, --limit and --seed go before it
    method = "vtg"
    data = "asqa.json"
    limit = 100
    set = { k = 5 }           # as --set: a method's parameters, and settings by their dotted keys

    [grid]                    # a run for each combination of these
    max_trials = [1, 2, 3]
    verify = [true, false]

    [[run]]                   # and one for each of these
    name = "plain"
    set = { verify = false, memory = false }

A run's name is its folder's; in a grid it tells the combination: `max_trials=1,verify=true`.
"""

from __future__ import annotations

import itertools
import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, ValidationError

from citeproof.errors import InputError
from citeproof.evaluation.corpus import Corpus
from citeproof.files import read_file
from citeproof.text import problem

Value = bool | int | float | str


class _Base(BaseModel, frozen=True, extra="forbid", strict=True):
    method: str | None = None
    data: str | None = None
    paper: str | None = None
    limit: int | None = Field(default=None, ge=1)
    seed: int | None = None
    corpus: Corpus | None = None
    set: dict[str, Value] = {}


class _Run(_Base):
    name: str


class _Sweep(BaseModel, frozen=True, extra="forbid", strict=True):
    base: _Base = _Base()
    grid: dict[str, list[Value]] = {}
    run: list[_Run] = []


class Plan(BaseModel, frozen=True, extra="forbid"):
    """One run to make."""

    name: str = ""
    """Of its folder."""
    method: str = "vtg"
    data: str
    """A file, or a data set's name."""
    paper: str | None = None
    """The method as its paper has it, on this data set; empty for the set that `data` is."""
    gold: bool = False
    """Whether the documents are chosen by the gold answers (ORACLE), whatever the method."""
    sub_questions: bool = False
    """Whether ASQA's sub-questions are asked in place of the question."""
    limit: int | None = None
    """Most examples that are drawn; all by default."""
    seed: int = 0
    """Draws them."""
    corpus: Corpus = "documents"
    """The passages that are searched."""
    sets: tuple[str, ...] = ()
    """`key=value`, as `--set` takes them; a later one wins."""


def read_sweep(path: Path, **given: Any) -> list[Plan]:
    """The runs of a sweep, the grid's first.

    Args:
        path: The TOML file.
        **given: Fields of `Plan` that the caller sets for all runs; None counts as not given,
            and `sets` go before those of `[base]`, yet not before those of a run.

    Raises:
        InputError: The file cannot be read, is not of that form, or two runs have one name.
    """
    sweep = _read(path)
    given = {key: value for key, value in given.items() if value is not None}
    above = given.pop("sets", ())
    plans = []
    combinations = itertools.product(*sweep.grid.values()) if sweep.grid else ()
    runs = [_name(dict(zip(sweep.grid, values, strict=True))) for values in combinations]
    for run in [*runs, *sweep.run]:
        fields = {
            **sweep.base.model_dump(exclude_none=True),
            **run.model_dump(exclude_none=True, exclude_unset=True),
            **given,
        }
        fields.pop("set", None)
        if "data" not in fields:
            raise InputError(f"{path} names no data", fix="Name them in [base], or with --data.")
        sets = (*_to_sets(sweep.base.set), *above, *_to_sets(run.set))
        plans.append(Plan(**fields, sets=sets))
    if not plans:
        raise InputError(f"{path} names no run", fix="Give it a [grid] or a [[run]].")
    names = [plan.name for plan in plans]
    if twins := {name for name in names if names.count(name) > 1}:
        raise InputError(f"{path} has two runs named {min(twins)!r}", fix="Names must differ.")
    return plans


def _read(path: Path) -> _Sweep:
    try:
        sweep = _Sweep.model_validate(tomllib.loads(read_file(path).decode()))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not TOML", why=str(error)) from error
    except ValidationError as error:
        fix = "It has [base], and [grid] or [[run]]."
        raise InputError(f"{path} is no sweep", why=problem(error), fix=fix) from error
    for run in sweep.run:
        if not re.fullmatch(r"(?!\.)[^\x00-\x1f/\\:*?\"<>|]+", run.name):
            raise InputError(f"{path}: {run.name!r} cannot be a folder's name")
    return sweep


def _name(combination: dict[str, Value]) -> _Run:
    name = ",".join(_to_sets(combination))
    return _Run(name=re.sub(r"[\x00-\x1f/\\:*?\"<>|]", "-", name), set=combination)


def _to_sets(sets: Mapping[str, Value]) -> list[str]:
    told = {key: own if isinstance(own, str) else json.dumps(own) for key, own in sets.items()}
    return [f"{key}={text}" for key, text in told.items()]
