"""A study of two arms of random backbones, from the command line to its report and its shared folder."""

import json
from pathlib import Path

import pytest

from benchrunner.command_line.main import main
from benchrunner.results import discover

STUDY = """
title = "Does depth help?"
margin = 50
contrast = ["deep - flat"]

[recipe]
restarts = "2"
limit-train = "8"
epochs = "1"

[[system]]
each = {layers = "1,2"}
name = "flat {layers}"
backbone = "bert/random-{layers}/32"
arm = "flat"

[[system]]
each = {layers = "3,4"}
name = "deep {layers}"
backbone = "bert/random-{layers}/32"
arm = "deep"

[[column]]
name = "RTE"
task = "glue/rte"
"""


def test_arms_from_the_study_to_what_is_shared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BENCHRUNNER_CACHE", "cache")
    plugins = discover()
    plugins.tasks.find("glue/rte").demo_files(tmp_path / "data")  # type: ignore[misc]
    Path("arms.toml").write_text(STUDY)
    words = ["compare", "--study", "arms.toml", "--data", "data", "--device", "cpu", "--jobs", "1", "--offline"]
    assert main([*words, "--quiet", "--json"], plugins=plugins) == 0
    printed = json.loads(capsys.readouterr().out)
    (test,) = printed["comparisons"]
    assert (test["system"], test["with"], test["claim"]) == ("deep", "flat", "arms")
    assert (test["pre_trainings"], test["restarts"], test["rows"]) == ([2, 2], [4, 4], 120)
    assert main(["report", printed["kept_as"], "--out", "report.html", "--data", "data"], plugins=plugins) == 0
    share = ["share", printed["kept_as"], "--out", "shared", "--data", "data"]
    assert main(share, plugins=plugins) == 0, capsys.readouterr().err
    assert main(["check", "shared", "--data", "data"], plugins=plugins) == 0
    for page in ("report.html", "shared/report.html"):
        text = Path(page).read_text()
        assert "deep: mean ± deviation of the pre-trainings deep 3, deep 4" in text
        assert "deep and flat are" in text or "between deep and flat" in text
        assert "Differences from flat" in text
