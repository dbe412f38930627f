"""Models by hub id at a revision, from a hub on this machine: branches, commits, offline, and code at a commit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hub_client import asked
from own_code_models import write_own_model
from tiny_models import write_model

from hub_server import Hub, Repository


@pytest.fixture
def models(tmp_path: Path) -> Path:
    """A RoBERTa and a BERT with two checkpoints each, as branches."""
    models = tmp_path / "hub" / "models" / "babylm"
    for model_type in ("roberta", "bert"):
        for seed, branch in enumerate(("", "@chck_1M", "@chck_10M")):
            write_model(model_type, models / f"{model_type}{branch}", seed=seed)
    return models


def commit(folder: Path) -> str:
    return Repository("models", "", folder).commit


def test_each_revision_is_a_model_of_its_own(models: Path, tmp_path: Path) -> None:
    references = {}
    for model_type in ("roberta", "bert"):
        name, tenth = f"babylm/{model_type}", commit(models / f"{model_type}@chck_10M")
        references[model_type] = [name, f"{name}@chck_1M", f"{name}@chck_10M", f"{name}@{tenth}", f"{name}@chck_2M"]
    asked_for = [reference for of_type in references.values() for reference in of_type]
    with Hub(tmp_path / "hub") as hub:
        online = asked(hub, tmp_path / "home", *asked_for)
    again = asked(hub, tmp_path / "home", *asked_for, offline=True)
    for place, of_type in ((0, references["roberta"]), (5, references["bert"])):
        check_revisions(of_type, online[place : place + 5], again[place : place + 5])


def check_revisions(references: list[str], online: list[dict[str, Any]], again: list[dict[str, Any]]) -> None:
    """Check what a process got for a model, three of its revisions and a wrong one, and another process offline."""
    name, second = references[3].split("@")
    main, first, tenth, by_commit, wrong = online
    assert [answer["name"] for answer in (main, first, tenth, by_commit)] == references[:4]
    assert len({main["revision"], first["revision"], tenth["revision"]}) == 3
    assert by_commit["revision"] == tenth["revision"]
    assert f"the revision chck_10M is the commit {second}" in tenth["notes"]
    assert not [note for note in (*main["notes"], *by_commit["notes"]) if "commit" in note]
    assert f"There is no revision 'chck_2M' of {name}. Did you mean" in wrong["error"]
    assert "chck_1M" in wrong["error"] and "\n" not in wrong["error"]
    assert again[:4] == online[:4]
    assert (
        f"no revision 'chck_2M' of {name} in the local cache, and the hub was not asked. Did you mean"
        in again[4]["error"]
    )


def test_code_of_the_hub_is_that_of_the_trusted_commit(tmp_path: Path) -> None:
    models = tmp_path / "hub" / "models" / "somebody"
    write_own_model(models / "neo")
    write_own_model(models / "neo@same-code", dropout=0.3)
    write_own_model(models / "neo@other-code")
    (models / "neo@other-code" / "layers.py").write_text("raise SystemExit")
    write_own_model(
        models / "borrower",
        classes={"AutoModel": "somebody/neo--modeling.Neo", "AutoConfig": "somebody/neo--modeling.NeoConfig"},
    )
    for path in (models / "borrower").glob("*.py"):
        path.unlink()
    place = f"somebody/neo@{commit(models / 'neo')}"
    references = ["somebody/neo", "somebody/neo@same-code", "somebody/neo@other-code", "somebody/borrower"]
    with Hub(tmp_path / "hub") as hub:
        untrusted = asked(hub, tmp_path / "none", *references)
        answers = asked(hub, tmp_path / "home", *references, trusted=place)
    hints = [place, *(f"somebody/neo@{commit(models / f'neo@{name}')}" for name in ("same-code", "other-code"))]
    for answer, hint in zip(untrusted, [*hints, "somebody/neo@COMMIT"], strict=True):
        assert f"--trust-code {hint}" in answer["error"]
    main, same, other, borrower = answers
    assert len({main["revision"], same["revision"], borrower["revision"]}) == 3
    assert f"--trust-code {hints[2]} to run it. What --trust-code names now has other code" in other["error"]
    assert asked(hub, tmp_path / "home", *references, trusted=place, offline=True) == answers
