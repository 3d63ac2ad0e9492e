"""The GitHub action, the image and its neighbours: what they name exists."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from citeproof.settings import Settings
from tests.test_docs import parsed

ROOT = Path(__file__).parents[1]
ACTION: Any = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
STEPS: dict[str, Any] = {
    step.get("name", step.get("uses")): step for step in ACTION["runs"]["steps"]
}
COMPOSE: Any = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))
DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"][
    "optional-dependencies"
]


# The action


def test_the_action_uses_the_inputs_that_it_has() -> None:
    named = set(re.findall(r"inputs\.([\w-]+)", (ROOT / "action.yml").read_text("utf-8")))
    assert named == ACTION["inputs"].keys()
    assert all("description" in one for one in ACTION["inputs"].values())


def test_inputs_never_become_code() -> None:
    """What is put into a script by `${{ }}` is run by the shell."""
    assert [name for name, step in STEPS.items() if "${{" in step.get("run", "")] == []


@pytest.mark.parametrize(
    ("fail_on", "expected"),
    [
        ("unsupported", {"fail_on": "unsupported", "no_fail": False}),
        ("contradicted", {"fail_on": "contradicted", "no_fail": False}),
        ("uncited", {"fail_on": None, "no_fail": False}),
        ("never", {"fail_on": None, "no_fail": True}),
    ],
)
def test_the_step_of_the_action_runs_a_command_that_exists(
    fail_on: str, expected: dict[str, Any], tmp_path: Path
) -> None:
    command = tmp_path / "citeproof/bin/citeproof"
    command.parent.mkdir(parents=True)
    command.write_text('#!/bin/sh\nprintf "%s\\n" "$@" > "$RUNNER_TEMP/called"\nexit 1\n')
    command.chmod(0o755)
    environment = {
        "RUNNER_TEMP": str(tmp_path),
        "PATH": "/usr/bin:/bin",
        "TEXT": "-a file; $(x).md",
        "DOCS": "the docs",
        "FAIL_ON": fail_on,
        "BACKEND": ACTION["inputs"]["backend"]["default"],
        "SARIF": "out.sarif",
        "CITEPROOF_MODELS__CACHE": "~/.cache/citeproof",
    }
    assert STEPS["Check the text"]["env"].keys() <= environment.keys()
    shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c"]
    done = subprocess.run(
        [*shell, STEPS["Check the text"]["run"]], env=environment, cwd=tmp_path, check=False
    )
    assert done.returncode == 1, "the exit code of the check is that of the step"
    values = parsed((tmp_path / "called").read_text().splitlines())
    assert {key: values[key] for key in expected} == expected
    assert (values["text"], values["docs"]) == (Path("-a file; $(x).md"), [Path("the docs")])
    assert (values["sarif"], values["backend"]) == (Path("out.sarif"), "auto")


def test_the_action_installs_extras_that_exist() -> None:
    assert set(ACTION["inputs"]["extras"]["default"].split(",")) <= EXTRAS.keys()
    assert "[local${EXTRAS:+,$EXTRAS}]" in STEPS["Install citeproof"]["run"]


def test_the_action_keeps_the_models_that_its_check_fetches(tmp_path: Path) -> None:
    restored, saved = (STEPS[f"actions/cache/{step}@v5"]["with"] for step in ("restore", "save"))
    assert restored == saved
    assert restored["path"] == STEPS["Check the text"]["env"]["CITEPROOF_MODELS__CACHE"]
    output = tmp_path / "output"
    environment = {
        "BACKEND": "auto",
        "RUNNER_OS": "Linux",
        "GITHUB_ACTION_PATH": str(ROOT),
        "GITHUB_OUTPUT": str(output),
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
    }
    shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c"]
    subprocess.run([*shell, STEPS["Name the models"]["run"]], env=environment, check=True)
    assert re.fullmatch(r"key=citeproof-Linux-auto-[0-9a-f]{64}\n", output.read_text("utf-8"))


# The image


def test_the_image_installs_extras_that_exist() -> None:
    [extras] = re.findall(r'"\.\[([\w,]+)\]"', DOCKERFILE)
    assert set(extras.split(",")) <= EXTRAS.keys()


def test_the_image_copies_what_reaches_its_build() -> None:
    allowed = re.findall(r"^!(.+)$", (ROOT / ".dockerignore").read_text("utf-8"), re.MULTILINE)
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.MULTILINE)
    names = {name for line in copied for name in line.split()}
    assert names == set(allowed)
    assert all((ROOT / name).exists() for name in names)


def test_the_variables_of_image_and_compose_are_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    variables = dict(re.findall(r"(CITEPROOF_\w+)=(\S+)", DOCKERFILE.split("FROM")[-1]))
    assert variables
    for name, value in COMPOSE["services"]["citeproof"]["environment"].items():
        variables[name] = re.sub(r"\$\{\w+:-(.*)\}", r"\1", value)
    for name, value in variables.items():
        if name.startswith("CITEPROOF_"):
            monkeypatch.setenv(name, value)
    settings = Settings.load()
    assert (settings.chroma.host, settings.chroma.port) == ("chroma", 8000)
    assert str(settings.models.cache) == "/data/models"
    assert settings.llm.model == "local"


def test_services_keep_their_data_and_their_ports_to_this_machine() -> None:
    services = COMPOSE["services"]
    volumes = {mount.split(":")[0] for one in services.values() for mount in one["volumes"]}
    assert volumes == COMPOSE["volumes"].keys()
    ports = [port for one in services.values() for port in one.get("ports", ())]
    assert all(port.startswith("127.0.0.1:") for port in ports)
    images = [one["image"] for one in services.values() if "build" in one and "image" in one]
    assert len(images) == len(set(images)), "two builds of one name collide"
    started = [name for name, one in services.items() if "profiles" not in one]
    assert started == ["citeproof", "chroma"]


def test_the_development_container_sets_up_what_make_does() -> None:
    made = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text("utf-8"))
    assert made["postCreateCommand"] == "make .venv/.ready"
    makefile = (ROOT / "Makefile").read_text("utf-8")
    assert "VENV   ?= .venv\n" in makefile
    assert "READY  := $(VENV)/.ready\n" in makefile
