"""Pre-training with the kernels that plugins/kernels offers, and without them."""

from pathlib import Path

import pytest
from pretraining_runs import losses, model_card, run, words

kernels = pytest.importorskip("benchrunner_kernels.compiled", reason="plugins/kernels is not installed")
pytestmark = pytest.mark.skipif(not kernels.FILE.is_file(), reason="there was no compiler")


def test_kernels_compute_a_pretraining_unless_left_out(tmp_path: Path) -> None:
    run(words(tmp_path, "with", "--dropout", "0", steps=4))
    run(words(tmp_path, "without", "--dropout", "0", "--no-kernels", steps=4))
    assert "| kernels | benchrunner-kernels " in model_card(tmp_path / "with")
    assert "| kernels | torch |" in model_card(tmp_path / "without")
    assert losses(tmp_path / "with") == pytest.approx(losses(tmp_path / "without"), rel=1e-4)
