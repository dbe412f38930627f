"""Processes that write a submission to one place at the same time all succeed, and the last one is whole."""

import multiprocessing
from pathlib import Path
from typing import Any

import pytest

from benchrunner.leaderboards.leaderboard import Leaderboard
from benchrunner_submit.submission_files.checking import find_faults
from benchrunner_submit.submission_files.manifests import find_manifest
from benchrunner_submit.submission_files.writing import turn_at, write_answers, write_with_manifest
from mood_boards import BOARD, SPOKEN, SPOKEN_ANSWERS, answers

TIMES = 30
PLACES: dict[str, tuple[Leaderboard, dict[str, dict[tuple[str, str], Any]]]] = {
    "moods.zip": (BOARD, {"one": answers(), "two": answers(mood=["glad"] * 4), "three": answers(warmth=[1, 2, 3])}),
    "spoken": (SPOKEN, dict.fromkeys(("one", "two", "three"), SPOKEN_ANSWERS)),
}


def write_often(place: Path, writer: str, faults: Any) -> None:
    """Write and check, as `submit` does, and as `write_answers` does without the check."""
    board, values = PLACES[place.name]
    try:
        for _ in range(TIMES):
            with turn_at(place):
                manifest = write_with_manifest(board, values[writer], place)
                faults.extend(find_faults(board, place, manifest=manifest))
            write_answers(board, values[writer], place)
    except Exception as error:
        faults.append(repr(error))


@pytest.mark.parametrize("name", PLACES)
def test_three_submissions_to_one_place_succeed(name: str, tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    with context.Manager() as manager:
        faults = manager.list()
        writers = [context.Process(target=write_often, args=(tmp_path / name, w, faults)) for w in PLACES[name][1]]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join(60)
        assert list(faults) == []
    assert find_manifest(tmp_path / name) is not None
    assert sorted(path.name for path in tmp_path.iterdir()) == [name, f"{name}.json"]
