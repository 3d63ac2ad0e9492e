from __future__ import annotations

from pathlib import Path

import pytest

from citeproof.console.arguments import read_arguments
from citeproof.errors import InputError
from citeproof.evaluation.sweep import read_sweep
from citeproof.graphs.registry import find_method

SWEEPS = sorted((Path(__file__).parents[2] / "benchmarks").glob("*/*.toml"))
assert len(SWEEPS) > 3


def written(folder: Path, text: str) -> Path:
    path = folder / "sweep.toml"
    path.write_text(text, "utf-8")
    return path


def test_a_grid_makes_a_run_of_each_combination_with_the_name_of_a_folder(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        """
        [base]
        method = "vtg"
        data = "a.jsonl"
        limit = 9
        set = { k = 3, "llm.model" = "openai:gpt-4o" }
        [grid]
        max_trials = [1, 2]
        "entailment.model" = ["judge", "C:\\\\x"]
        [[run]]
        name = "other"
        method = "calm"
        limit = 4
        set = { k = 8 }
        """,
    )
    plans = read_sweep(path)
    assert [plan.name for plan in plans] == [
        "max_trials=1,entailment.model=judge",
        "max_trials=1,entailment.model=C--x",
        "max_trials=2,entailment.model=judge",
        "max_trials=2,entailment.model=C--x",
        "other",
    ]
    base = ("k=3", "llm.model=openai:gpt-4o")
    assert plans[1].sets == (*base, "max_trials=1", "entailment.model=C:\\x")
    assert plans[4].sets == (*base, "k=8")
    assert [(p.method, p.data, p.limit, p.seed) for p in plans[3:]] == [
        ("vtg", "a.jsonl", 9, 0),
        ("calm", "a.jsonl", 4, 0),
    ]


def test_what_the_caller_gives_goes_before_the_file_but_for_what_is_swept(tmp_path: Path) -> None:
    path = written(
        tmp_path, '[base]\ndata = "a"\nlimit = 9\nset = {k = 3}\n[grid]\nmax_trials = [1]\n'
    )
    given = {"data": "b", "limit": None, "seed": 5, "sets": ["k=4", "max_trials=7"]}
    [plan] = read_sweep(path, **given)
    assert (plan.data, plan.limit, plan.seed) == ("b", 9, 5)
    _, parameters = read_arguments(None, plan.sets)
    assert parameters == {"k": "4", "max_trials": "1"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[base", "is not TOML: "),
        ("[grid]\nk = [1]\n", "names no data. Name them in [base], or with --data"),
        ('[base]\ndata = "a"\n', "names no run. Give it a [grid] or a [[run]]"),
        ("[bass]\n", "is no sweep: bass: Extra inputs"),
        ("[base]\nlimit = 0\n", "is no sweep: base.limit: Input should be greater"),
        ("[grid]\nk = 3\n", "is no sweep: grid.k: Input should be a valid list"),
        ('[base]\ndata = "a"\n[[run]]\nname = "../x"\n', "'../x' cannot be a folder's name"),
        ('[base]\ndata = "a"\n[[run]]\nname = ".."\n', "'..' cannot be a folder's name"),
        (
            '[base]\ndata = "a"\n[[run]]\nname = "x"\n[[run]]\nname = "x"\n',
            "has two runs named 'x'",
        ),
    ],
)
def test_a_file_that_is_no_sweep_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_sweep(written(tmp_path, text))
    assert message in str(caught.value)


@pytest.mark.parametrize("path", SWEEPS, ids=lambda path: path.stem)
def test_each_shipped_sweep_is_valid(path: Path) -> None:
    plans = read_sweep(path, data="questions.jsonl")
    assert len(plans) > 3
    sketched = []
    for plan in plans:
        settings, parameters = read_arguments(None, plan.sets)
        graph = find_method(plan.method).sketch(**parameters)
        shown = graph.context_schema().model_dump(mode="json")
        sketched.append((plan.method, settings, shown))
        for key, value in parameters.items():
            assert str(shown[key]).lower().removesuffix(".0") == value
    assert all(one not in sketched[:n] for n, one in enumerate(sketched))
