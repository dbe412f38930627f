"""Thousands of forged folders: none is accepted that says more than its plan, its claims and its answers do."""

import pytest
from board_folders import Folders
from forged_boards import BoardForger
from forging import Forger, forged_folder

EDITS = 2_000
SOME = 24


@pytest.fixture(scope="module")
def forger(tmp_path_factory: pytest.TempPathFactory) -> Forger:
    folder = tmp_path_factory.mktemp("forged")
    return Forger(forged_folder(folder / "made"), folder / "received")


@pytest.fixture(scope="module")
def boards(tmp_path_factory: pytest.TempPathFactory, forger: Forger, folders: Folders) -> BoardForger:
    return BoardForger(tmp_path_factory.mktemp("boards"), forger, folders)


def test_the_judge_agrees_with_an_honest_folder(forger: Forger) -> None:
    """The judge computes every figure, flag and warning on its own."""
    assert forger.judge.is_honest(forger.judge.base)
    assert forger.is_accepted(dict(forger.judge.base))


def test_the_judge_finds_a_forged_mean(forger: Forger) -> None:
    lies = [seed for seed in range(SOME) if not forger.judge.is_honest(forger.forge(seed))]
    assert SOME / 2 < len(lies) < SOME


@pytest.mark.parametrize("start", [0, SOME // 2])
def test_no_lie_is_accepted(start: int, forger: Forger) -> None:
    faults = [fault for fault in map(forger.try_edit, range(start, start + SOME // 2)) if fault]
    assert faults == [] and forger.accepted and forger.refused


def test_no_changed_byte_is_accepted(forger: Forger) -> None:
    assert [fault for fault in map(forger.try_bytes, range(SOME)) if fault] == []
    assert forger.is_accepted(dict(forger.judge.base))


@pytest.mark.parametrize("start", [0, 10])
def test_no_folder_stops_a_board(start: int, boards: BoardForger) -> None:
    assert boards.try_board(start) == []


@pytest.mark.slow
@pytest.mark.parametrize("start", range(20, 520, 10))
def test_no_folder_of_hundreds_stops_a_board(start: int, boards: BoardForger) -> None:
    assert boards.try_board(start) == []


@pytest.mark.slow
@pytest.mark.parametrize("start", range(SOME, EDITS, 100))
def test_no_lie_of_thousands_is_accepted(start: int, forger: Forger) -> None:
    faults = [fault for fault in map(forger.try_edit, range(start, min(start + 100, EDITS))) if fault]
    assert faults == []
