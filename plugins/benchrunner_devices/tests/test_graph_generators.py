"""What passes draw that a CUDA graph records."""

import pytest

from benchrunner.features.randomness import Dropout
from benchrunner_devices.graphs import GraphGenerators
from cuda_generators import CudaGenerator, default as default


def test_a_recorded_pass_draws_what_it_draws_without_a_graph(default: CudaGenerator) -> None:
    """A graph keeps the places in the stream; the seed is that of the generator when the graph is replayed."""

    def draw(dropout: Dropout) -> list[tuple[int, int]]:
        numbers = []
        for site, alone in (("words", False), ("layer", True), ("head", False)):
            with dropout.drawing(site, CudaGenerator.device, alone=alone):
                numbers.append(default.draw(12))
        return numbers

    generators = GraphGenerators()
    draw(Dropout(1, 0, generators=generators))
    kept = generators.for_a_graph()
    for source in kept.named.values():
        source.state.recording = True  # type: ignore[attr-defined]
    recorded = Dropout(1, 1, generators=kept)
    places = [offset for _, offset in draw(recorded)]
    with pytest.raises(RuntimeError, match="'words' is computed twice in a pass"):
        draw(recorded)
    with (
        pytest.raises(RuntimeError, match="were not drawn before it: 'new'"),
        recorded.drawing("new", CudaGenerator.device, alone=True),
    ):
        pass
    assert draw(Dropout(1, 7, generators=generators)) == draw(Dropout(1, 7)), "while another graph is recorded"
    for source in kept.named.values():
        source.state.recording = False  # type: ignore[attr-defined]
    kept.seed(Dropout(1, 7))
    seeds = [kept.named[name].state.seed for name in ("", "layer", "")]  # type: ignore[attr-defined]
    assert list(zip(seeds, places, strict=True)) == draw(Dropout(1, 7))


def test_a_recorded_pass_gives_no_seeds() -> None:
    kept = GraphGenerators().for_a_graph()
    with pytest.raises(RuntimeError, match="would keep the random numbers of 'words' for all batches"):
        Dropout(1, 7, generators=kept).seed("words")
    assert Dropout(1, 7, generators=GraphGenerators()).seed("words") == Dropout(1, 7).seed("words")
