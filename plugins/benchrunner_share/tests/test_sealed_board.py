"""A board with a sealed test: senders answer rows without labels, and the board's owner ranks by the labels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from sealed_data import answered, gold, owner, sender

from benchrunner import RequestError, UnknownName
from benchrunner.results import Runner
from benchrunner_share.board.building import Built, Wishes, build_board
from benchrunner_share.share import share_study

RIGHT = {"lab/good": 16, "lab/fair": 10}
"""System -> the number of rows that it calls glad; the others it calls sad."""


@pytest.fixture(scope="module")
def handed_in(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Runner]:
    """The folders of three senders, of whom one does not answer the test, and the runner of the owner."""
    home = tmp_path_factory.mktemp("sealed")
    made = sender(home / "sender")
    for number, (name, right) in enumerate(RIGHT.items()):
        result = answered(made, name, changes={"lr": right}, seeds=(0,))
        share_study(result, home / "results" / f"folder-{number}", made, report=False)
    without = answered(made, "lab/shy", changes={"lr": 20}, seeds=(0,), tests=())
    share_study(without, home / "results" / "shy", made, report=False)
    return home / "results", owner(home / "owner", made)


def build(handed_in: tuple[Path, Runner], site: Path, **wishes: Any) -> Built:
    results, made = handed_in
    return build_board(results, site, made.plugins, made.workspace, wishes=Wishes(**wishes))


def wanted() -> dict[str, float]:
    """Return the accuracy of each system on test in percent, worked out from the labels alone."""
    accuracy = {}
    for name, right in RIGHT.items():
        answers = ["glad" if row < right else "sad" for row in range(len(gold()))]
        accuracy[name] = 100 * sum(map(str.__eq__, answers, gold())) / len(gold())
    return accuracy


def test_a_board_ranks_by_labels_that_no_sender_had(handed_in: tuple[Path, Runner], tmp_path: Path) -> None:
    built = build(handed_in, tmp_path / "site", splits=("test",))
    assert (built.accepted, built.refused) == (3, ())
    board = json.loads((tmp_path / "site" / "board.json").read_text())
    column = "mine/mood (test) accuracy"
    figures = {figure["system"]: figure["mean"] for figure in board["figures"] if figure["column"] == column}
    assert figures == pytest.approx(wanted())
    [test] = comparisons(board)
    assert test["column"] == column and {test["system"], test["with"]} == set(RIGHT)
    best = max(wanted(), key=wanted().__getitem__)
    assert min(board["mean_ranks"], key=lambda name: board["mean_ranks"][name]["mean"]) == best
    assert [system["name"] for system in board["partial"]["systems"]] == ["lab/shy"]
    page = (tmp_path / "site" / "tasks" / "mine--mood.html").read_text()
    assert f"{figures[best]:.1f}" in page and "on test" in page


def comparisons(board: dict[str, Any]) -> list[dict[str, Any]]:
    tests: list[dict[str, Any]] = board["comparisons"]
    return tests


def test_dev_ranks_unless_a_test_split_is_named(handed_in: tuple[Path, Runner], tmp_path: Path) -> None:
    build(handed_in, tmp_path / "site")
    board = json.loads((tmp_path / "site" / "board.json").read_text())
    assert {test["column"] for test in comparisons(board)} == {"mine/mood (dev) accuracy"}
    assert {system["name"] for system in board["systems"]} == {*RIGHT, "lab/shy"}


def test_a_site_has_no_text_and_no_label_of_a_sealed_test(handed_in: tuple[Path, Runner], tmp_path: Path) -> None:
    build(handed_in, tmp_path / "site", splits=("test",), with_rows=True)
    data = handed_in[1].workspace.data
    assert data is not None
    texts = {line.split("\t")[0] for line in (data / "mood" / "test_gold.tsv").read_text().splitlines()[1:]}
    texts -= {line.split("\t")[0] for line in (data / "mood" / "dev.tsv").read_text().splitlines()[1:]}
    written = "".join(path.read_text() for path in (tmp_path / "site").rglob("*") if path.is_file())
    assert texts and not [text for text in texts if text in written]
    assert "rows of test" not in written


def test_a_split_that_no_task_has_is_refused(handed_in: tuple[Path, Runner], tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match=r"There is no test split 'tset' in the tasks of the board. Did you mean"):
        build(handed_in, tmp_path / "site", splits=("tset",))


def test_without_labels_nothing_can_be_ranked_by_test(handed_in: tuple[Path, Runner], tmp_path: Path) -> None:
    results, _ = handed_in
    with pytest.raises(RequestError, match=r"No system has scores of all of mine/mood \(test\)"):
        build((results, sender(tmp_path)), tmp_path / "site", splits=("test",))
