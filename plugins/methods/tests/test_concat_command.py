"""Commands with `concat:A,B` as a backbone."""

from __future__ import annotations

from pathlib import Path

import pytest
from concatenations import drawn_family

from command_line import Shell
from inline import plugins


def test_the_command_line_fits_predicts_and_refuses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCHRUNNER_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    shell = Shell(tmp_path, capsys)
    shell.plugins = plugins(
        register_backbones=[drawn_family(name) for name in ("one", "two", "deep", "foreign", "frozen")]
    )
    run = shell.fitted("--backbone", "concat:one,two")
    code, out, err = shell(
        "predict", run, *shell.folders(), "--split", "dev", "--out", "answers.tsv", "--device", "cpu"
    )
    assert code == 0, err
    code, out, err = shell("score", "mood", "answers.tsv", *shell.folders())
    assert code == 0 and "accuracy" in out, err
    code, out, err = shell("compare", "one", "concat:one,two", "--tasks", "mood", *shell.folders(), "--quiet")
    assert code == 0 and "concat:one,two" in out, err
    code, out, err = shell(
        "submit", "moods", *shell.folders(), "--backbone", "concat:one,two", "--out", "sent", "--quiet"
    )
    assert code == 0 and "sent" in out, err
    before = set((shell.folder / "runs").iterdir())
    options = ("mood", *shell.folders(), "--quiet", "--device", "cpu", "--backbone")
    for backbone, reason in (
        ("concat:one", "does not name two or more backbones"),
        ("concat:one,twoo", "There is no backbone 'twoo'. Did you mean two"),
        ("concat:one,foreign", "they have different tokenizers"),
        ("concat:one,deep", "they have 1 and 2 layers"),
        ("concat:one,frozen", "concat:one,frozen is a frozen backbone: its weights must stay as they are"),
        ("concat:one,run:nothing", "There is no run 'nothing'"),
    ):
        error = shell.refused("run", *options, backbone)
        assert reason in error and error.count("\n") == 1, error
    assert set((shell.folder / "runs").iterdir()) == before
    error = shell.refused("export", run, "out", *shell.folders())
    assert "no other library has a model of several encoders" in error
