"""Reads sweeps: TOML files that define runs, one for each combination of parameters.

    [base]                    # what all runs share; --data, --limit and --seed override it
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

A run's name is also that of its folder; in a grid it is the combination, such as
`max_trials=1,verify=true`.
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
    """A planned run."""

    name: str = ""
    """The name of its folder."""
    method: str = "vtg"
    data: str
    """A file, or a data set's name."""
    paper: str | None = None
    """The data set whose setup in the method's paper is used; if empty, the set that `data` is.
    None: no setup of a paper."""
    gold: bool = False
    """Whether the documents are chosen by the gold answers (ORACLE), whatever the method."""
    sub_questions: bool = False
    """Whether ASQA's sub-questions are asked instead of the question."""
    limit: int | None = None
    """Maximum number of examples that are drawn; all by default."""
    seed: int = 0
    """The seed for drawing them."""
    corpus: Corpus = "documents"
    """The passages that are searched."""
    sets: tuple[str, ...] = ()
    """`key=value`, as for `--set`; later ones override earlier ones."""


def read_sweep(path: Path, **given: Any) -> list[Plan]:
    """Read the runs of a sweep, those of the grid first.

    `given` has fields of `Plan` that override those of all runs, except that a run's own `set`
    overrides `sets`. None counts as not given.
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
        raise InputError(f"{path} has two runs named {min(twins)!r}", fix="Names must be unique.")
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
