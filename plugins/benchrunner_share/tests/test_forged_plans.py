"""Forged plans of shared folders: what stands twice, in another order, or is declared away. All other files agree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from shared_folders import SharedFolder

from benchrunner import RequestError
from benchrunner_share.verifying.data_checks import own_runners
from benchrunner_share.verifying.examination import Examination
from benchrunner_share.verifying.made_files import MadeFiles
from benchrunner_share.verifying.received_folder import ReceivedFolder

Change = Callable[[dict[str, Any], dict[str, Any]], object]
"""Edits the content of a study, given also its only cell."""


def declare_diverged(study: dict[str, Any], cell: dict[str, Any]) -> None:
    """Call the worst restart of the chosen grid point lost, with the figures of the others."""
    worst = cell["candidates"][1]["fits"][0]
    cell["lost"] = {worst: ["diverged", "the loss is nan"], **cell["lost"]}
    for score in cell["scores"]:
        score.update(mean=score["best"], deviation=None, restarts=[score["best"]])


def select_other(study: dict[str, Any], cell: dict[str, Any]) -> None:
    """Report the other restart as the selected one, with its scores."""
    cell["selected"] = cell["candidates"][1]["fits"][0]
    for score in cell["scores"]:
        score["best"] = score["restarts"][0]


FORGERIES: dict[str, tuple[Change, str]] = {
    "a score twice": (
        lambda study, cell: cell["scores"].append(cell["scores"][0] | {"mean": 0.987}),
        "'     },' stands there, and the facts say '     }'.",
    ),
    "a forged score before the true one": (
        lambda study, cell: cell["scores"].insert(0, cell["scores"][0] | {"mean": 0.987}),
        """'      "mean": 0.987,' stands there, and the facts say '      "mean": 0.6666666667,'.""",
    ),
    "a cell twice": (
        lambda study, cell: study["result"]["cells"].append(dict(cell)),
        "'words' on 'mine/mood' stands twice",
    ),
    "a cell twice with fewer fits": (
        lambda study, cell: study["result"]["cells"].append(cell | {"candidates": cell["candidates"][1:]}),
        "'words' on 'mine/mood' stands twice",
    ),
    "a name for its columns": (
        lambda study, cell: cell.update(columns=["glue/rte accuracy 98.7"]),
        "'    ],' stands there, and the facts say '    ]'.",
    ),
    "changes that the fits do not have": (
        lambda study, cell: cell["fitting"].update(changes={"epochs": 99}),
        "the study says epochs 99, its fits have ",
    ),
    "a fit three times": (
        lambda study, cell: cell["candidates"][1].update(fits=[cell["selected"]] * 3),
        "a fit is listed several times",
    ),
    "another order of restarts": (
        lambda study, cell: cell["candidates"][1]["fits"].reverse(),
        "the restarts do not stand in the order of the seeds",
    ),
    "another order of grid points": (
        lambda study, cell: cell["candidates"].reverse(),
        "the grid points do not stand in the order of the grid",
    ),
    "another order of metrics": (
        lambda study, cell: cell["scores"].reverse(),
        """'      "metric": "matthews",' stands there, and the facts say '      "metric": "accuracy",'.""",
    ),
    "another order of keys": (
        lambda study, cell: study.update(revisions=study.pop("revisions")),
        """' "tasks": {' stands there, and the facts say ' "revisions": {'.""",
    ),
    "a restart declared diverged": (declare_diverged, "stands there, and the facts say"),
    "another selected restart": (select_other, """stands there, and the facts say '    "selected": """),
    "no warnings": (
        lambda study, cell: cell.update(warnings=[]),
        """'    "warnings": []' stands there, and the facts say '    "warnings": ['.""",
    ),
    "a sentence of its own": (
        lambda study, cell: study.update(verified="by the authors"),
        "' },' stands there, and the facts say ' }'.",
    ),
    "a task that the study has not": (
        lambda study, cell: study["suppliers"].update(verified="by the authors"),
        """"own (own)",' stands there, and the facts say """,
    ),
    "a backbone that the study has not": (
        lambda study, cell: study["revisions"].update({"best model": "0" * 16}),
        """'  "words": "tiny 1",' stands there, and the facts say '  "words": "tiny 1"'.""",
    ),
    "data that the study has not": (
        lambda study, cell: study["data"].update({"mine/other": {}}),
        "stands there, and the facts say",
    ),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_plan_is_found(name: str, folder: SharedFolder) -> None:
    change, sentence = FORGERIES[name]
    differences = folder.deceptive_differences(lambda study: change(study, study["result"]["cells"][0]))
    assert sentence in differences


@pytest.mark.parametrize("name", ["notes.txt", "predictions/0123456789abcdef.json", "every_eval_ever/x.json"])
def test_listed_foreign_files_are_found(name: str, folder: SharedFolder) -> None:
    (folder.path / name).write_text("accuracy 99.9")
    folder.deceive()
    assert folder.differences() == f"'{name}' is no file that 'benchrunner share' writes for this study."


def test_a_list_of_files_in_another_order_is_found(folder: SharedFolder) -> None:
    folder.edit("manifest.json", lambda listed: listed.update(files=dict(reversed(listed["files"].items()))))
    assert 'stands there, and the facts say \'  "README.md": ' in folder.differences()


def test_fits_learned_from_the_own_training_rows(folder: SharedFolder, tmp_path: Path) -> None:
    data = folder.runner.workspace.data
    assert data is not None
    (tmp_path / "own" / "mood").mkdir(parents=True)
    for split in ("train", "dev"):
        text = (data / "mood" / f"{split}.tsv").read_text()
        (tmp_path / "own" / "mood" / f"{split}.tsv").write_text(text.replace("river", "lake"))
    (tmp_path / "own" / "mood" / "dev.tsv").write_text((data / "mood" / "dev.tsv").read_text())
    differences = folder.differences(workspace=replace(folder.runner.workspace, data=tmp_path / "own"))
    assert "learned from other rows than those of" in differences


URLS = ["ftp://x.org", "https://", "https://x.org/a b", "https://x.org/\n# 98.70", 'https://x.org/"', "javascript:1", 7]


@pytest.mark.parametrize("url", URLS)
def test_what_is_no_address_is_refused(url: object, folder: SharedFolder) -> None:
    folder.edit("study.json", lambda study: study.update(url=url))
    with pytest.raises(RequestError, match=r"The address|expected text|line breaks"):
        folder.verification()


@pytest.mark.parametrize("name", ["two\nlines", "\x1b[2J", "right\u202eleft", "line\u2028separator"])
def test_names_that_do_not_print_are_refused(name: str, folder: SharedFolder) -> None:
    folder.edit("study.json", lambda study: study["result"]["cells"][0].update(system=name))
    with pytest.raises(RequestError, match="line breaks or characters that do not print"):
        folder.verification()


@pytest.mark.parametrize("split", ["test", "train", "nowhere"])
def test_a_selection_on_another_split_than_dev_is_refused(split: str, folder: SharedFolder) -> None:
    folder.edit("study.json", lambda study: study["result"]["cells"][0]["selection"].update(split=split))
    folder.deceive()
    with pytest.raises(RequestError, match=f"mine/mood cannot select on '{split}'; its dev splits are dev."):
        folder.verification()


def test_left_out_fits_are_said_to_be_missing(folder: SharedFolder) -> None:
    """The fits of the other grid point change no figure, and nobody can prove that they were made."""

    def leave_out(study: dict[str, Any]) -> None:
        for fit in study["result"]["cells"][0]["candidates"].pop(0)["fits"]:
            study["result"]["cells"][0]["lost"].pop(fit, None)
            study["predictions"].pop(fit, None)

    folder.edit("study.json", leave_out)
    folder.deceive()
    assert not folder.verification().is_equal
    with own_runners(folder.runner.plugins, folder.runner.workspace) as runners:
        [cell] = MadeFiles(Examination(ReceivedFolder(folder.path), runners)).content["result"]["cells"]
    assert cell["warnings"][-1] == "3 of the 6 fits of the study"
