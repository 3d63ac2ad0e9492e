"""Settings from a file, the environment and arguments."""

import json
from pathlib import Path
from typing import Any

import pytest

from citeproof.errors import SettingsError
from citeproof.models.vllm import VLLMServer
from citeproof.settings import (
    BudgetSettings,
    ChromaSettings,
    EntailmentSettings,
    LLMSettings,
    Settings,
)
from citeproof.settings_toml import as_toml
from citeproof.trust import trust

KEY = "sk-top-secret-1234"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def toml(text: str, name: str = "citeproof.toml") -> Path:
    path = Path(name)
    path.write_text(text, encoding="utf-8")
    return path


def refused(**arguments: Any) -> str:
    with pytest.raises(SettingsError) as caught:
        Settings.load(**arguments)
    assert caught.value.__context__ is None or KEY not in str(caught.value.__context__)
    return str(caught.value)


def test_nothing_set_gives_the_defaults() -> None:
    assert Settings.load() == Settings()


def test_the_later_source_wins_key_by_key(monkeypatch: pytest.MonkeyPatch) -> None:
    toml("""
[llm]
model = "openai:a"
temperature = 0.1
seed = 1
[chroma]
port = 1
collection = "from-file"
""")
    monkeypatch.setenv("CITEPROOF_LLM__TEMPERATURE", "0.2")
    monkeypatch.setenv("CITEPROOF_LLM__SEED", "2")
    monkeypatch.setenv("citeproof_chroma__port", "2")
    arguments: dict[str, Any] = {"llm": {"seed": 3}, "budget.calls": 7}
    settings = Settings.load(**arguments)
    assert settings.llm == LLMSettings(model="openai:a", temperature=0.2, seed=3)
    assert settings.chroma == ChromaSettings(port=2, collection="from-file")
    assert settings.budget == BudgetSettings(calls=7)


def test_a_string_is_short_for_the_model_in_every_source(monkeypatch: pytest.MonkeyPatch) -> None:
    toml('llm = "openai:a"\nembedding = "some/model"\n[roles]\njudge = "openai:j"')
    monkeypatch.setenv("CITEPROOF_ENTAILMENT", "other/model")
    monkeypatch.setenv("CITEPROOF_ENTAILMENT__BATCH_SIZE", "8")
    monkeypatch.setenv("CITEPROOF_ROLES__EVIDENCE_FINDER", "openai:e")
    settings = Settings.load(llm="openai:b")
    assert settings.llm.model == "openai:b"
    assert settings.embedding.model == "some/model"
    assert settings.entailment == EntailmentSettings(model="other/model", batch_size=8)
    assert settings.for_role("judge").model == "openai:j"
    assert settings.for_role("evidence_finder").model == "openai:e"
    assert settings.for_role("claim_generator") == settings.llm


def test_arguments_may_be_models_dotted_or_none() -> None:
    arguments: dict[str, Any] = {
        "llm": None,
        "chroma": ChromaSettings(port=9),
        "llm.model": "openai:a",
        "roles.judge.temperature": 0.7,
        "chroma.ssl": True,
    }
    settings = Settings.load(**arguments)
    assert settings.chroma == ChromaSettings(port=9, ssl=True)
    assert settings.for_role("judge") == LLMSettings(model="openai:a", temperature=0.7)


def test_arguments_are_left_as_they_are() -> None:
    arguments: dict[str, Any] = {"llm": {"model": "openai:a"}, "llm.seed": 3}
    Settings.load(**arguments)
    assert arguments == {"llm": {"model": "openai:a"}, "llm.seed": 3}


def test_json_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CITEPROOF_BUDGET", '{"calls": 5}')
    assert Settings.load().budget.calls == 5
    monkeypatch.setenv("CITEPROOF_BUDGET", "{calls")
    assert "CITEPROOF_BUDGET is not valid JSON" in refused()


def test_an_empty_variable_counts_as_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CITEPROOF_LLM", "")
    assert Settings.load() == Settings()


def test_none_empties_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    toml('llm = {model = "m", base_url = "http://h/v1", seed = 4}')
    monkeypatch.setenv("CITEPROOF_LLM__SEED", "none")
    settings = Settings.load(**{"llm.base_url": "none", "llm.temperature": "None"})
    assert (settings.llm.seed, settings.llm.base_url, settings.llm.temperature) == (None,) * 3


def test_a_pair_of_numbers_may_come_from_every_source(monkeypatch: pytest.MonkeyPatch) -> None:
    for text in ("[0.1, 0.9]", "0.1,0.9"):
        arguments: dict[str, Any] = {"entailment.band": text}
        assert Settings.load(**arguments).entailment.band == (0.1, 0.9)
    monkeypatch.setenv("CITEPROOF_ENTAILMENT__BAND", "[0.1, 0.9]")
    assert Settings.load().entailment.band == (0.1, 0.9)
    assert "two numbers" in refused(**{"entailment.band": "0.9, 0.1"})


def test_paths_may_begin_at_home() -> None:
    arguments: dict[str, Any] = {"chroma.path": "~/notes", "entailment.cache": "~/scores.db"}
    settings = Settings.load(**arguments)
    assert settings.chroma.path == Path.home() / "notes"
    assert settings.entailment.cache == Path.home() / "scores.db"
    assert EntailmentSettings(model="~/nli").model == str(Path.home() / "nli")
    assert EntailmentSettings(model="org/nli").model == "org/nli"
    assert VLLMServer("~/model").model == str(Path.home() / "model")
    assert VLLMServer("org/model").model == "org/model"


def test_a_key_outside_of_sections_may_come_from_every_source(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert Settings.load().prompts is None
    file = toml('prompts = "from-file"\n[llm]\nseed = 4')
    assert Settings.load() == Settings(prompts=Path("from-file"), llm=LLMSettings(seed=4))
    file.write_text(as_toml(Settings.load()), encoding="utf-8")
    assert Settings.load().prompts == Path("from-file")
    monkeypatch.setenv("CITEPROOF_PROMPTS", "from-environment")
    assert Settings.load().prompts == Path("from-environment")
    assert Settings.load(prompts="~/own").prompts == Path.home() / "own"
    assert Settings.load(prompts="none").prompts is None
    assert "prompts (from the arguments) is not allowed" in refused(prompts={"answerer": "x"})


def test_what_is_shown_can_be_loaded_again() -> None:
    toml("""
[llm]
model = "a"
base_url = "http://127.0.0.1:8000/v1"
seed = "none"
temperature = "none"
[roles.judge]
model = "openai:gpt-4o"
base_url = "none"
""")
    settings = Settings.load()
    toml(as_toml(settings))
    assert Settings.load() == settings
    assert settings.for_role("judge").base_url is None


def test_a_named_file_is_read_and_must_exist(folder: Path) -> None:
    toml('llm = "openai:a"')
    toml('llm = "openai:b"', "other.toml")
    assert Settings.load(Path("other.toml")).llm.model == "openai:b"
    assert Settings.load("other.toml").llm.model == "openai:b"
    assert "There is no settings file missing.toml" in refused(file=Path("missing.toml"))
    assert "can't be read" in refused(file=folder)


def test_a_syntax_error_has_its_line() -> None:
    toml("[llm]\nmodel = \n")
    message = refused()
    assert "citeproof.toml is not valid TOML" in message
    assert "line 2" in message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[lmm]\nmodel='x'", "no setting lmm (from citeproof.toml). Did you mean llm?"),
        ("[llm]\nmodle='x'", "no setting llm.modle (from citeproof.toml). Did you mean llm.model?"),
        ("[roles]\njugde='x'", "no role roles.jugde (from citeproof.toml). Did you mean roles.jud"),
        (
            "[roles.judge]\nbaseurl='x'",
            "no setting roles.judge.baseurl (from citeproof.toml). Did you mean roles.judge.base_u",
        ),
        ("zzz = 1", "Known: llm, roles, entailment"),
        ("chroma = 'x'", "chroma (from citeproof.toml) is a section"),
        ("roles = 'x'", "roles (from citeproof.toml) is a section"),
        ("[[llm]]", "llm (from citeproof.toml) is a section, not a value of type list"),
    ],
)
def test_unknown_keys_in_the_file(text: str, expected: str) -> None:
    toml(text)
    assert expected in refused()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("CITEPROOF_LMM", "Did you mean CITEPROOF_LLM?"),
        ("CITEPROOF_LLM__MODLE", "Did you mean CITEPROOF_LLM__MODEL?"),
        ("CITEPROOF_LLM_MODEL", "Did you mean CITEPROOF_LLM__MODEL?"),
        ("CITEPROOF_ROLES__JUGDE", "Did you mean CITEPROOF_ROLES__JUDGE?"),
        ("CITEPROOF_CHROMA", "such as CITEPROOF_CHROMA__PATH"),
    ],
)
def test_unknown_variables(name: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, KEY)
    message = refused()
    assert name in message
    assert expected in message
    assert KEY not in message


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"llm.modle": 1}, "no setting llm.modle (from the arguments)"),
        ({"budgets": 1}, "no setting budgets (from the arguments). Did you mean budget?"),
        (
            {"llm.temperature": 9},
            "llm.temperature = 9 (from the arguments) is not allowed: "
            "input should be less than or equal to 2",
        ),
        ({"retriever.kind": "magic"}, "'magic' (from the arguments) is not allowed: input should"),
        ({"llm.base_url": "localhost:8000"}, "write it as http://127.0.0.1:8000/v1"),
        ({"llm.base_url": "http://host:port/v1"}, "write it as http://127.0.0.1:8000/v1"),
        ({"llm.base_url": "http://host:80000/v1"}, "write it as http://127.0.0.1:8000/v1"),
        ({"llm.base_url": "http://[::1/v1"}, "write it as http://127.0.0.1:8000/v1"),
        ({"retriever": "qdrant"}, "postgresql://"),
        ({"roles.judge.retries": -1}, "roles.judge.retries = -1 (from the arguments)"),
        ({"chroma.port": "x", "budget.calls": 0}, "; "),
        (
            {"documents.pdf": "docling", "models.offline": True},
            "documents is not allowed: offline, docling needs documents.docling_models",
        ),
    ],
)
def test_wrong_arguments_say_what_is_allowed(arguments: dict[str, Any], expected: str) -> None:
    assert expected in refused(**arguments)


def test_a_wrong_value_names_its_source(monkeypatch: pytest.MonkeyPatch) -> None:
    toml("llm = {retries = 1}")
    monkeypatch.setenv("CITEPROOF_LLM__RETRIES", "many")
    assert "CITEPROOF_LLM__RETRIES = 'many' (from the environment)" in refused()


def test_a_role_that_inherits_a_wrong_value_blames_where_it_was_set() -> None:
    toml("llm = {retries = -1}\n[roles.judge]\nseed = 1")
    message = refused()
    assert "llm.retries = -1 (from citeproof.toml)" in message
    assert "roles.judge.retries" not in message


def test_keys_are_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings.load(**{"llm.api_key": KEY})
    assert settings.llm.api_key is not None
    assert settings.llm.api_key.get_secret_value() == KEY
    assert KEY not in f"{settings!r} {settings} {settings.model_dump_json()}"
    assert KEY not in refused(**{"llm.api_key": [KEY]})
    assert KEY not in refused(**{"llm.apikey": KEY})
    assert KEY not in refused(llm=[KEY])
    assert KEY not in refused(**{"llm.base_url": f"ftp://me:{KEY}@host/v1"})
    monkeypatch.setenv("CITEPROOF_LLM", f'{{"api_key": "{KEY}"')
    assert KEY not in refused()


OPENAI = {"model": "openai:a", "api_key": KEY, "seed": 5}
SERVER = {"model": "big", "base_url": "http://h/v1", "api_key": KEY}
OTHER = {"model": "m", "base_url": "http://x/v1"}
KEYED = {"model": "anthropic:b", "api_key": "k"}
ADDRESS = 'model = "m"\nbase_url = "http://x/v1"'


@pytest.mark.parametrize(
    ("llm", "role", "expected"),
    [
        (OPENAI, "openai:b", {"model": "openai:b", "api_key": KEY, "seed": 5}),
        (OPENAI, "anthropic:b", {"model": "anthropic:b", "seed": 5}),
        (OPENAI, "local", {"model": "local", "seed": 5}),
        (OPENAI, OTHER, {**OTHER, "seed": 5}),
        (SERVER, "small", {**SERVER, "model": "small"}),
        (SERVER, "local", {"model": "local"}),
        (SERVER, "openai:b", {"model": "openai:b"}),
        (SERVER, "vllm:b", {"model": "vllm:b"}),
        (SERVER, {"model": "vllm:b", "base_url": "http://h/v1"}, {**SERVER, "model": "vllm:b"}),
        (SERVER, {"base_url": "http://y/v1"}, {"model": "big", "base_url": "http://y/v1"}),
        (SERVER, {"temperature": 1}, {**SERVER, "temperature": 1}),
        (OPENAI, KEYED, {**OPENAI, **KEYED}),
        ({"api_key": KEY}, "openai:b", {"model": "openai:b", "api_key": KEY}),
    ],
)
def test_a_key_goes_only_where_it_was_meant_for(
    llm: dict[str, Any], role: Any, expected: dict[str, Any]
) -> None:
    settings = Settings.load(llm=llm, roles={"judge": role})
    assert settings.for_role("judge") == LLMSettings(**expected)


@pytest.mark.parametrize(
    ("file", "section", "named"),
    [
        (f"[llm]\n{ADDRESS}", "LLM", "llm.base_url"),
        (f"[roles.judge]\n{ADDRESS}", "ROLES__JUDGE", "roles.judge.base_url"),
        (f"[llm]\n{ADDRESS}", "ROLES__JUDGE", "roles.judge.base_url"),
        ('[entailment]\nbase_url = "http://x"', "ENTAILMENT", "entailment.base_url"),
        ('[embedding]\nbase_url = "http://x/v1"', "EMBEDDING", "embedding.base_url"),
        ('[llm]\nmodel = "vllm:m"\nvllm_args = "--trust-remote-code"', "", "llm.vllm_args"),
        ('[ray]\naddress = "ray://x:10001"', "", "ray.address"),
        ('retriever = "python:own_search:plain"', "", "retriever.source"),
        ('retriever = "postgresql://elsewhere/db"', "", "retriever.source"),
        ('checkpointer = "postgresql://elsewhere/runs"', "", "sets checkpointer"),
        ('[chroma]\nhost = "index"', "", "chroma.host"),
    ],
)
def test_a_folders_file_gets_no_key_for_its_server_unless_it_is_trusted(
    file: str, section: str, named: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("citeproof.trust._place", lambda: tmp_path / "config/trusted.json")
    if section:
        monkeypatch.setenv(f"CITEPROOF_{section}__API_KEY", "sk-mine")
    path = toml(file)
    told = refused()
    assert all(said in told for said in ("citeproof.toml of this folder", named, "citeproof trust"))
    assert "sk-mine" not in told
    assert Settings.load(path).llm.model  # whoever names it has chosen it
    trust(path)
    assert Settings.load().llm.model
    toml(f"{file}\n# changed")
    assert named in refused()


def test_a_folders_file_may_name_a_server_that_gets_no_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    toml('[llm]\nmodel = "m"\nbase_url = "http://x/v1"\napi_key = "its-own"')
    assert Settings.load().llm.base_url == "http://x/v1"
    toml('[llm]\nmodel = "m"')
    monkeypatch.setenv("CITEPROOF_LLM__API_KEY", "sk-mine")
    monkeypatch.setenv("CITEPROOF_LLM__BASE_URL", "http://mine/v1")
    assert Settings.load().llm.base_url == "http://mine/v1"
    toml('retriever = "postgresql://elsewhere/db"')
    assert Settings.load(retriever="index").retriever.source == "index"
    toml('checkpointer = "sqlite"\n[chroma]\nhost = "none"')
    assert Settings.load().chroma.host is None


def test_a_later_source_that_turns_to_another_provider_leaves_key_and_server() -> None:
    toml(f'[llm]\nmodel = "big"\nbase_url = "http://h/v1"\napi_key = "{KEY}"')
    assert Settings.load(llm="local").llm == LLMSettings()
    assert Settings.load(llm="small").llm.base_url == "http://h/v1"


def test_roles_are_merged_across_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    toml('[roles.judge]\nmodel = "openai:j"\nseed = 1\n[roles.claim_generator]\nseed = 8')
    monkeypatch.setenv("CITEPROOF_ROLES__JUDGE__SEED", "2")
    settings = Settings.load(llm="openai:a")
    assert settings.roles == {
        "judge": LLMSettings(model="openai:j", seed=2),
        "claim_generator": LLMSettings(model="openai:a", seed=8),
    }


def test_an_unknown_role_is_an_error() -> None:
    with pytest.raises(SettingsError, match="no role 'jugde'. Did you mean judge?"):
        Settings().for_role("jugde")


def test_settings_made_directly_read_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    toml('llm = "openai:a"')
    monkeypatch.setenv("CITEPROOF_LLM", "openai:b")
    assert Settings().llm == LLMSettings()
    assert Settings.model_validate(Settings().model_dump()) == Settings()


def test_further_fields_of_a_request_are_an_object(tmp_path: Path) -> None:
    file = tmp_path / "citeproof.toml"
    file.write_text("[llm]\nextra_body = { reasoning_effort = 'low' }\n", "utf-8")
    assert json.loads(Settings.load(file).llm.extra_body) == {"reasoning_effort": "low"}
    given = '{"reasoning_effort": "low"}'
    assert Settings.load(**{"llm.extra_body": given}).llm.extra_body == given
    with pytest.raises(SettingsError, match="write a JSON object"):
        Settings.load(**{"llm.extra_body": "[1]"})
