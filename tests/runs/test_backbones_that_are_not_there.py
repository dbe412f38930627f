"""A backbone that does not exist is refused also where a method needs none."""

from pathlib import Path

import pytest

from benchrunner import RequestError
from inline import runner


@pytest.mark.parametrize("name", ["hub:x", "nosuch/model", "run:0123"])
def test_a_method_without_backbones_has_no_fit_of_a_wrong_name(tmp_path: Path, name: str) -> None:
    work = runner(tmp_path)
    task = work.plugins.tasks.find("mood")
    with pytest.raises(RequestError, match=r"backbone|run"):
        work.planner.plan(task, name, method="majority")
    known = work.planner.plan(task, "words", method="majority")
    assert known == work.planner.plan(task, "", method="majority")
