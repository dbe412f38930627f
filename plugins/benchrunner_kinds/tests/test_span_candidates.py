"""The best spans of windows are those of brute force, and the average of several models ranks them by mean score."""

import itertools

import numpy as np
import pytest

from benchrunner_kinds.spans.span_candidates import FROM, NONE, SCORE, TO, Window, average, nbest


def test_white_space_does_not_begin_or_end_an_answer() -> None:
    scores = np.array([0, 9, 0, 9], dtype=np.float32)
    spans = np.array([[0, 2], [3, 3], [3, 5], [6, 6]], dtype=np.int32)
    best = nbest([Window(0, scores, scores, 0.0)], spans, size=9, longest=4)
    assert sorted(map(tuple, best[1:4, :2].tolist())) == [(0, 2), (0, 5), (3, 5)]
    assert np.isneginf(best[4:, SCORE]).all()


def brute(windows: list[Window], spans: np.ndarray, size: int, longest: int) -> list[tuple[float, int, int]]:
    """Try every span of every window, as the rule for context says."""
    candidates = []
    for at, window in enumerate(windows):
        for i, j in itertools.combinations_with_replacement(range(len(window.starts)), 2):
            context = []
            for neighbour in windows:
                place, count = window.first + i - neighbour.first, len(neighbour.starts)
                inside = 0 <= place < count
                context.append(min(place, count - 1 - place) + 0.01 * count if inside else -1.0)
            if j - i < longest and context.index(max(context)) == at:
                score = np.float32(window.starts[i]) + np.float32(window.ends[j])
                candidates.append((float(score), int(spans[window.first + i][0]), int(spans[window.first + j][1])))
    return sorted(candidates, key=lambda candidate: -candidate[0])[:size]


@pytest.mark.parametrize("seed", range(30))
def test_the_best_spans_are_those_of_brute_force(seed: int) -> None:
    draw = np.random.default_rng(seed)
    pieces, longest, size = int(draw.integers(1, 40)), int(draw.integers(1, 8)), int(draw.integers(1, 25))
    spans = np.stack([np.arange(pieces) * 3, np.arange(pieces) * 3 + 2], axis=1).astype(np.int32)
    width, step = int(draw.integers(1, pieces + 1)), int(draw.integers(1, 9))
    begins = [0]
    while begins[-1] + width < pieces:
        begins.append(begins[-1] + min(step, width))
    windows = []
    for begin in begins:
        count = min(width, pieces - begin)
        first, last = draw.normal(size=(2, count)).astype(np.float32)
        windows.append(Window(begin, first, last, float(draw.normal())))
    best = nbest(windows, spans, size=size, longest=longest)
    wanted = brute(windows, spans, size, longest)
    assert best.shape == (1 + size, 3)
    assert best[NONE, SCORE] == np.float32(min(window.null for window in windows))
    lines = [(float(line[SCORE]), int(line[FROM]), int(line[TO])) for line in best[1:] if np.isfinite(line[SCORE])]
    assert lines == wanted


def test_the_average_of_copies_is_the_one_itself() -> None:
    draw = np.random.default_rng(0)
    window = Window(0, *draw.normal(size=(2, 30)).astype(np.float32), 0.3)
    spans = np.stack([np.arange(30), np.arange(30) + 1], axis=1)
    member = nbest([window], spans, size=20, longest=5)[None]
    assert np.array_equal(average([member, member, member]), member)


def test_average_keeps_the_best_span_of_the_same_characters() -> None:
    """A character may have several pieces: an accent of its own, or the bytes of an emoji."""
    member = np.array([[[0, 0, 1], [3, 4, 9], [3, 4, 2]]], dtype=np.float32)
    assert average([member, member])[0, 1].tolist() == [3, 4, 9]


def test_average_ranks_by_mean_with_lowest_score_where_unlisted() -> None:
    first = np.array([[[0, 0, 1], [0, 1, 9], [2, 3, 5]]], dtype=np.float32)
    second = np.array([[[0, 0, 3], [2, 3, 8], [4, 5, 4]]], dtype=np.float32)
    mean = average([first, second])[0].tolist()
    assert mean == [[0, 0, 2], [0, 1, 6.5], [2, 3, 6.5]], "0-1: (9 + 4) / 2; 2-3: (5 + 8) / 2; 4-5: (5 + 4) / 2 is out"
