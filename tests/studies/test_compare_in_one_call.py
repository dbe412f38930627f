"""`benchrunner.compare`: a comparison in one call from Python."""

from pathlib import Path

import pytest

import benchrunner
from benchrunner import RequestError
from benchrunner.studies import study_run
from inline import files, plugins


def test_one_call_compares_as_the_command_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study_run, "discover", plugins)
    files(1, tmp_path / "data")
    folders = {"data": str(tmp_path / "data"), "runs": str(tmp_path / "runs")}
    result = benchrunner.compare({"one": "words"}, ["mood"], **folders, restarts=2, lr=(1e-3, 1e-2), epochs=1)
    (cell,) = result.cells
    assert (cell.cell.system, len(cell.restarts), result.is_complete) == ("one", 2, True)
    with pytest.raises(RequestError, match=r"no option 'restart'. Did you mean restarts"):
        benchrunner.compare(["words"], ["mood"], restart=2)
