"""The published dev figures of encoders: names, ranges, sources, and spot checks against the sources."""

from __future__ import annotations

import pytest

from benchrunner.leaderboards.published_choice import choose_published
from benchrunner.results import discover
from benchrunner_leaderboards import register_leaderboards
from benchrunner_submit import Leaderboard

BOARDS = {board.name: board for board in register_leaderboards()}
NAMES = ("glue-dev", "squad-dev")


@pytest.fixture(params=NAMES)
def board(request: pytest.FixtureRequest) -> Leaderboard:
    return BOARDS[request.param]


def test_every_row_has_a_source_a_backbone_and_sane_figures(board: Leaderboard) -> None:
    for row in board.published:
        assert "et al. 20" in row.source and ("Table" in row.source or "README" in row.source)
        assert row.backbones and not row.by_default
        assert all(45 < value < 98 for value in row.cells.values()), row.name
    assert not board.files and {column.kind for column in board.columns.values()} == {"dev"}


def test_the_models_are_named_backbones_where_the_plugin_is() -> None:
    known = discover().backbones
    if not any(name.startswith("FacebookAI/") for name in known):
        pytest.skip("no plugin offers the hub's encoders")
    named = {row.backbones[0] for name in NAMES for row in BOARDS[name].published}
    needs_own_code = "chandar-lab/NeoBERT"
    assert named - known.keys() == {"albert/albert-xxlarge-v1", needs_own_code}


def test_exact_match_is_below_f1(board: Leaderboard) -> None:
    for row in board.published:
        for version in ("1.1", "2.0"):
            if f"{version} F1" in row.cells:
                assert row.cells[f"{version} EM"] < row.cells[f"{version} F1"]


def test_a_compared_model_stands_beside_its_own_figures() -> None:
    boards = list(BOARDS.values())
    plain, choice = choose_published(boards), choose_published(boards, backbones=["roberta-base"])
    added = [figure for figure in choice.figures if figure not in plain.figures]
    assert {figure.row.name for figure in added} == {"RoBERTa-base"} and len(added) == 12
    assert choose_published(boards, ["none"], backbones=["roberta-base"]).figures == ()
