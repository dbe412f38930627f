"""Every text architecture of the library: how it reads a batch, with the library's states, or why it is refused."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from any_model import write_any_model
from family_table import BATCHES, PAGE, QUICK, REFUSED, UNTRIED, families_section
from test_hub_states import check_states
from tiny_models import loaded

from benchrunner import CheckpointError
from benchrunner_transformers.model.encoder import HubEncoder

EXPECTED = {name: way for way, names in BATCHES.items() for name in names} | REFUSED

IN_FP64 = ("ctrl",)
"""Model types whose gradients differ by more than 1e-4 in fp32 by rounding alone."""


def way_of(encoder: HubEncoder) -> str:
    """Return the key of `BATCHES` for a model."""
    if encoder._reads_flat:
        return "without padding"
    return "equal lengths" if encoder._habits.mixes_padding else "padded"


def reference(folder: Path, encoder: HubEncoder) -> Any:
    """Load the model, or the encoder of a model, with the library alone and its plain attention."""
    from transformers import AutoModel

    model_class = type(encoder.model)
    auto = model_class if model_class.__name__.endswith("EncoderModel") else AutoModel
    try:
        model = auto.from_pretrained(folder, config=encoder.model.config, attn_implementation="eager")
    except ValueError:  # a class without several kinds of attention
        model = auto.from_pretrained(folder, config=encoder.model.config)
    model = model.get_encoder() if encoder.encoder_only and type(model) is not model_class else model
    assert type(model) is model_class
    return model.eval()


def check_family(model_type: str, folder: Path) -> None:
    write_any_model(model_type, folder)
    if model_type in REFUSED:
        with pytest.raises(CheckpointError, match=re.escape(REFUSED[model_type])):
            loaded(folder)
        return
    encoder = loaded(folder)
    assert way_of(encoder) == EXPECTED[model_type]
    model = reference(folder, encoder)
    if model_type in IN_FP64:
        encoder, model = encoder.double(), model.double()
    check_states(encoder, model)


@pytest.mark.parametrize("model_type", QUICK)
def test_a_family_reads_batches_as_the_table_says(model_type: str, tmp_path: Path) -> None:
    check_family(model_type, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("model_type", sorted(EXPECTED))
def test_every_family_reads_batches_as_the_table_says(model_type: str, tmp_path: Path) -> None:
    check_family(model_type, tmp_path)


def test_every_text_architecture_of_the_library_is_in_the_table() -> None:
    """The classes for filling in words, for generation and for classification say what is a text architecture."""
    from transformers.models.auto import modeling_auto

    kinds = ("CAUSAL_LM", "MASKED_LM", "SEQ_TO_SEQ_CAUSAL_LM", "SEQUENCE_CLASSIFICATION", "TEXT_ENCODING")
    text = {name for kind in kinds for name in getattr(modeling_auto, f"MODEL_FOR_{kind}_MAPPING_NAMES")}
    missing = (text & set(modeling_auto.MODEL_MAPPING_NAMES)) - EXPECTED.keys() - UNTRIED
    assert not missing


def test_the_readme_lists_the_families_of_the_table() -> None:
    assert families_section() in PAGE.read_text(encoding="utf-8"), (
        "run python plugins/benchrunner_transformers/tests/family_table.py"
    )
