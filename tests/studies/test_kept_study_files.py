"""Results of study files that are read again from the runs folder."""

import json
import shutil

import pytest

from benchrunner import RequestError, Workspace
from benchrunner.results import Computing, Runner, read_study
from benchrunner.studies.comparison.json_values import as_json
from benchrunner.studies.kept.kept_study import find_study
from kitchen import Kitchen, staged

pytestmark = pytest.mark.usefixtures("narrow_bilstm")


def test_a_study_file_is_read_again_with_all_its_figures(kitchen: Kitchen) -> None:
    out = kitchen.done("--study", "study.toml", "--name", "doughs", "--columns", "taste,crust,loss,mean", "--json")
    workspace = Workspace(kitchen.folder / "fits", kitchen.folder / "other cache", data=kitchen.folder / "data")
    for name in ("out", "model", "study.toml"):
        path = kitchen.folder / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    read = read_study("doughs", Runner(kitchen.plugins, workspace, Computing(device="cpu")))
    assert json.loads(json.dumps(as_json(read))) == json.loads(out)
    assert json.loads(out)["kept_as"] == "doughs"
    kept = find_study(kitchen.folder / "fits", "doughs")
    assert kept.command[0] == "compare" and kept.ended is not None
    shutil.rmtree(kitchen.folder / "data")
    without_data = read_study("doughs", Runner(kitchen.plugins, workspace, Computing(device="cpu")))
    figures = [{**figure, "interval_over_examples": None, "ranks": None} for figure in json.loads(out)["figures"]]
    assert as_json(without_data)["figures"] == figures, "intervals and ranks need the data"


def test_stages_and_ensembles_of_a_kept_study_are_read_again(kitchen: Kitchen) -> None:
    code, out, err = staged(kitchen, "--name", "stages", "--json")
    assert code == 0, err
    workspace = Workspace(kitchen.folder / "fits", kitchen.folder / "other cache", data=kitchen.folder / "data")
    read = read_study("stages", Runner(kitchen.plugins, workspace, Computing(device="cpu")))
    assert json.loads(json.dumps(as_json(read))) == json.loads(out)
    members = read.figures["three together", "mood"].members
    kept = find_study(kitchen.folder / "fits", "stages")
    assert len(members) == 3 and set(members) <= kept.selected
    assert kept.runs_for(["mine/mood"], "three together") == list(members)
    with pytest.raises(RequestError, match="several systems: at once, in two stages, three together"):
        kept.runs_for(["mine/mood"])
