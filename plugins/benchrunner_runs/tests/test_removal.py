"""Runs are removed, or only their weights; what kept studies selected stays."""

from pathlib import Path

import pytest

from benchrunner import Recipe, RequestError
from benchrunner.io.json_form import fields_json
from benchrunner.io.locks import held
from benchrunner.io.seals import write_sealed
from benchrunner.runs.folder import RunFolder
from benchrunner.studies.cells import Candidate, Fitting, Selection
from benchrunner.studies.kept.kept_study import FORMAT, KeptCell, KeptStudy
from benchrunner.studies.study import Column, Study, System
from benchrunner_runs.removal import Removal, prune_runs, remove_runs
from made_runs import made_fit, made_run


def keep_study(
    runs: Path, selected: str | None, *fits: str, ended: str | None = "2020-01-01", name: str = "mine"
) -> None:
    """Write a kept study by hand: its fits, and the one that was selected."""
    points = (Candidate(Recipe(), tuple(RunFolder(runs, fit).fit() for fit in fits)),)
    asked = ("words", "words", "mood", None, ("mood accuracy",), ())
    cell = KeptCell(*asked, Selection(), Fitting(), points, selected)
    study = Study((System("words", "words"),), (Column("mood accuracy", "mood"),))
    content = KeptStudy(FORMAT, name, (), "0.1.0", "2020-01-01", ended, study, (cell,))
    (runs / "studies").mkdir(exist_ok=True)
    write_sealed(runs / "studies" / f"{name}.json", fields_json(content))


def pruned(removal: Removal) -> tuple[list[str], int]:
    """What a removal says of runs and of the size of what was removed."""
    return list(removal.removed), removal.bytes


def test_pruning_keeps_the_weights_that_a_study_selected(tmp_path: Path) -> None:
    chosen, restart, stopped = made_run(tmp_path), made_run(tmp_path, seed=1), made_run(tmp_path, seed=2, status=None)
    (tmp_path / stopped / "model").mkdir()
    keep_study(tmp_path, chosen, chosen, restart)
    assert prune_runs(tmp_path, dry_run=True).removed == (restart,)
    assert (tmp_path / restart / "model").exists()
    assert pruned(prune_runs(tmp_path)) == ([restart], 100)
    assert [(tmp_path / run / "model").exists() for run in (chosen, restart, stopped)] == [True, False, True]
    assert len(list((tmp_path / restart).glob("predictions/*/answers.jsonl"))) == 2
    assert prune_runs(tmp_path, keep="none").removed == (chosen,)


def test_pruning_removes_states_that_no_fit_went_on_from(tmp_path: Path) -> None:
    run = made_run(tmp_path)
    (tmp_path / run / "state").mkdir()
    (tmp_path / run / "state" / "state.safetensors").write_bytes(bytes(40))
    assert pruned(prune_runs(tmp_path)) == ([run], 140)
    assert not (tmp_path / run / "state").exists() and not (tmp_path / run / "model").exists()


def test_pruning_leaves_majority_answers_and_damaged_runs_alone(tmp_path: Path) -> None:
    majority, damaged, restart = made_run(tmp_path, backbone=""), made_run(tmp_path, seed=1), made_run(tmp_path, seed=2)
    (tmp_path / damaged / "fit.json").write_text("{")
    assert prune_runs(tmp_path).removed == (restart,)
    assert (tmp_path / majority / "model").exists() and (tmp_path / damaged / "model").exists()


def test_fits_of_an_incomplete_study_keep_their_weights(tmp_path: Path) -> None:
    fits = [made_run(tmp_path, seed=seed) for seed in range(2)]
    keep_study(tmp_path, None, *fits, ended=None)
    assert prune_runs(tmp_path).removed == ()


def stopped_fit(runs: Path, seed: int) -> str:
    """Write a fit that was stopped beside its checkpoint of 70 bytes."""
    run = made_run(runs, seed=seed, status=None)
    (runs / run / "checkpoint").mkdir()
    (runs / run / "checkpoint" / "state.safetensors").write_bytes(bytes(70))
    return run


def test_pruning_removes_checkpoints_of_stopped_fits(tmp_path: Path) -> None:
    alone, planned, running = (stopped_fit(tmp_path, seed) for seed in range(3))
    keep_study(tmp_path, None, planned, ended=None)
    with held(tmp_path / running, lambda: None):
        for is_dry in (True, False):
            removal = prune_runs(tmp_path, dry_run=is_dry)
            assert pruned(removal) == ([alone], 70) and removal.in_use == (running,)
    assert [(tmp_path / run / "checkpoint").exists() for run in (alone, planned, running)] == [False, True, True]
    assert set(prune_runs(tmp_path, keep="none").removed) == {planned, running}
    assert not list(tmp_path.glob("*/checkpoint"))


def test_a_run_that_is_in_use_is_left_alone(tmp_path: Path) -> None:
    run, busy = made_run(tmp_path), made_run(tmp_path, seed=1)
    with held(tmp_path / busy, lambda: None):
        removal = prune_runs(tmp_path)
        with pytest.raises(RequestError, match=rf"Another process works on the run {busy}\. Nothing was removed"):
            remove_runs(tmp_path, [run, busy])
    assert (removal.removed, removal.in_use) == ((run,), (busy,))
    assert (tmp_path / busy / "model").exists() and (tmp_path / run).exists()


def test_a_damaged_study_stops_pruning(tmp_path: Path) -> None:
    run = made_run(tmp_path)
    keep_study(tmp_path, run, run)
    (tmp_path / "studies" / "other.json").write_text("{")
    with pytest.raises(RequestError, match=r"other\.json.*Nothing was removed"):
        prune_runs(tmp_path)
    assert (tmp_path / run / "model").exists()


def test_whole_runs_are_removed_unless_a_study_shows_them(tmp_path: Path) -> None:
    chosen, restart, other = (made_run(tmp_path, seed=seed) for seed in range(3))
    majority = made_run(tmp_path, backbone="", method="majority")
    elsewhere = made_run(tmp_path, backbone="", method="majority", data="e" * 64)
    keep_study(tmp_path, chosen, chosen, restart)
    for shown in (chosen, restart, majority):
        with pytest.raises(RequestError, match=rf"The kept study mine shows the run {shown}, .*--force"):
            remove_runs(tmp_path, [other, shown])
    assert (tmp_path / other).exists(), "nothing is removed if anything is refused"
    assert remove_runs(tmp_path, [other, elsewhere], dry_run=True).removed == (other, elsewhere)
    assert remove_runs(tmp_path, [other[:8], other, elsewhere]).removed == (other, elsewhere)
    assert remove_runs(tmp_path, [chosen, restart, majority], force=True).removed == (chosen, restart, majority)
    assert [path.name for path in tmp_path.iterdir()] == ["studies"]


def test_a_kept_study_is_removed_with_the_runs_it_alone_shows(tmp_path: Path) -> None:
    alone, both = made_run(tmp_path), made_run(tmp_path, seed=1)
    keep_study(tmp_path, alone, alone, both)
    keep_study(tmp_path, both, both, name="other")
    assert remove_runs(tmp_path, ["mine"], dry_run=True).studies == ("mine",)
    removal = remove_runs(tmp_path, ["mine"])
    assert (removal.studies, removal.removed) == (("mine",), (alone,))
    assert sorted(path.name for path in tmp_path.glob("*")) == sorted((both, "studies"))
    assert [path.name for path in (tmp_path / "studies").iterdir()] == ["other.json"]
    assert remove_runs(tmp_path, ["other"]).removed == (both,)


def test_a_damaged_study_stops_removal(tmp_path: Path) -> None:
    run = made_run(tmp_path)
    (tmp_path / "studies").mkdir()
    (tmp_path / "studies" / "other.json").write_text("{")
    with pytest.raises(RequestError, match=r"other\.json.*Nothing was removed"):
        remove_runs(tmp_path, [run])
    assert remove_runs(tmp_path, [run], force=True).removed == (run,)


def test_a_run_without_an_id_of_its_own_is_refused(tmp_path: Path) -> None:
    made_run(tmp_path)
    with pytest.raises(RequestError, match="There is no run"):
        remove_runs(tmp_path, [made_fit(seed=5).id])
