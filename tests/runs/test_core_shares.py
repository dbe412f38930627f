"""Fits on a CPU share its cores: how many run at the same time, and with how many threads each."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from benchrunner import Recipe, Workspace
from benchrunner.fits.executor import FitCost
from benchrunner.fits.progress import quiet_report
from benchrunner.results import Computing, Fit, FitRunner, Record
from benchrunner.runs import core_shares
from benchrunner.runs.core_shares import CoreShares, automatic_shares
from benchrunner.runs.local_executor import Local

LONG = FitCost(flops=1e13, memory=2_000_000_000)


def machine(costs: dict[str, FitCost], *, can_run: bool = True) -> FitRunner:
    """What an executor gets on a machine whose fits have these costs."""
    return FitRunner(
        workspace=Workspace(Path("runs"), Path("cache")),
        computing=Computing("cpu"),
        report=quiet_report,
        run=lambda fit: pytest.fail("nothing runs"),
        cost=lambda fit: costs[fit.id],
        has_installed_plugins=can_run,
    )


def fit_of(number: int, backbone: str = "words") -> Fit:
    recipe = Recipe(lr=1e-5 * (number + 1))
    return Fit(
        task="mine/mood",
        backbone=backbone,
        method="finetune",
        recipe=recipe,
        seed=0,
        data="",
        problem={},
        revision="",
        suppliers={},
    )


def shares(
    costs: Sequence[FitCost],
    monkeypatch: pytest.MonkeyPatch,
    *,
    cores: int,
    memory: int = 64_000_000_000,
    can_run: bool = True,
) -> tuple[int, list[int]] | None:
    """Return the number of fits at the same time, and the threads of each fit."""
    monkeypatch.setattr(core_shares, "available_cores", lambda: cores)
    monkeypatch.setattr(core_shares, "memory_size", lambda: memory)
    fits = [fit_of(number) for number in range(len(costs))]
    costs_by_id = dict(zip((fit.id for fit in fits), costs, strict=True))
    chosen = automatic_shares(fits, machine(costs_by_id, can_run=can_run))
    return None if chosen is None else (chosen.jobs, [chosen.threads[fit.id] for fit in fits])


@pytest.mark.parametrize(
    ("fits", "cores", "expected"),
    [
        (8, 2, (2, [1] * 8)),
        (3, 2, (2, [1, 1, 2])),  # the last fit alone gets both cores
        (2, 8, (2, [4, 4])),
        (3, 8, (3, [2, 2, 2])),
        (11, 4, (4, [1] * 8 + [1] * 3)),
        (6, 4, (4, [1, 1, 1, 1, 2, 2])),
    ],
)
def test_all_cores_are_shared(
    fits: int, cores: int, expected: tuple[int, list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shares([LONG] * fits, monkeypatch, cores=cores) == expected


def test_unequal_fits_leave_no_core_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    short = FitCost(1e12, LONG.memory)
    assert shares([short, LONG, LONG], monkeypatch, cores=2) == (2, [1, 1, 1])
    assert shares([short, LONG, LONG, LONG], monkeypatch, cores=3) == (3, [1, 1, 1, 1])


def test_memory_limits_fits_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shares([LONG] * 8, monkeypatch, cores=8, memory=10_000_000_000) == (4, [2] * 8)
    assert shares([LONG] * 8, monkeypatch, cores=8, memory=4_000_000_000) is None


@pytest.mark.parametrize(
    ("costs", "cores", "can_run"),
    [([LONG], 4, True), ([LONG] * 4, 1, True), ([LONG] * 4, 4, False), ([FitCost(1e10, 10**9)] * 4, 4, True)],
    ids=["one fit", "one core", "no workers", "little work"],
)
def test_fits_that_gain_nothing_run_one_by_one(
    costs: list[FitCost], cores: int, can_run: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shares(costs, monkeypatch, cores=cores, can_run=can_run) is None


def test_the_majority_needs_no_core(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core_shares, "available_cores", lambda: 2)
    fits = [fit_of(0, backbone=""), fit_of(1), fit_of(2)]
    here = machine({fit.id: LONG for fit in fits})
    chosen = automatic_shares(fits, here)
    assert chosen is not None and (chosen.jobs, set(chosen.threads.values())) == (2, {1})
    assert automatic_shares(fits[:2], here) is None


def test_named_jobs_share_the_cores_on_a_gpu_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without `--jobs`, fits on a GPU run one after another."""
    monkeypatch.setattr(core_shares, "available_cores", lambda: 16)
    fits = [fit_of(number) for number in range(6)]
    here = machine({fit.id: LONG for fit in fits}, can_run=False)
    chosen = Local(4).shares(fits, here)
    assert chosen is not None and (chosen.jobs, chosen.cores, set(chosen.threads.values())) == (4, 16, {4})
    assert Local().shares(fits, here) is None


def test_named_jobs_share_the_cores_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core_shares, "available_cores", lambda: 5)
    fits = [fit_of(number) for number in range(3)]
    assert set(CoreShares.of(fits, 2).threads.values()) == {2}
    assert set(CoreShares.of(fits, 8).threads.values()) == {1}
    assert CoreShares.of(fits, 2).text.startswith("2 at a time with 2 threads each")


def test_a_fit_in_this_process_has_the_threads_of_its_share(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(core_shares, "available_cores", lambda: 6)
    threads: list[int] = []

    def run(fit: Fit) -> Record:
        threads.append(torch.get_num_threads())
        return Record(fit.id, "done")

    here = replace(machine({}), workspace=Workspace(tmp_path / "runs", tmp_path / "cache"), run=run)
    before = torch.get_num_threads()
    assert [record.status for _, record in Local(2).run([fit_of(0)], here)] == ["done"]
    assert (threads, torch.get_num_threads()) == ([3], before)
