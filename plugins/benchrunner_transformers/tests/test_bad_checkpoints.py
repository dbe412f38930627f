"""Checkpoints that cannot be loaded: one sentence each, exit code 2, and no memory taken for the model."""

from __future__ import annotations

import json
import pickle
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from tiny_models import backbone_of, write_model
from tiny_tokenizers import write_tokenizer

from bad_checkpoints import DAMAGES, check_damage, check_hostile
from benchrunner import CheckpointError, RequestError, Workspace
from benchrunner.workspace import Settings
from benchrunner_transformers.backbones import TransformersFamily


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("roberta")
    write_model("roberta", folder)
    return folder


def refusal(folder: Path | str, *, offline: bool = False, load: bool = False) -> str:
    """Check a model that cannot be loaded, and load it if the check does not find this; return the error."""
    home = Path(folder) / "home"
    workspace = Workspace(runs=home, cache=home, settings=Settings(offline=offline))
    with pytest.raises(CheckpointError) as caught:
        backbone = TransformersFamily().find(str(folder), workspace)
        assert backbone is not None
        backbone.revision(workspace)  # a command asks for it before its first fit
        if load:
            backbone.load(workspace, seed=0)
    return str(caught.value)


def change_settings(folder: Path, **changes: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def change_weights(folder: Path, change: Callable[[dict[str, torch.Tensor]], None]) -> None:
    weights = load_file(folder / "model.safetensors")
    change(weights)
    save_file(weights, folder / "model.safetensors")


@pytest.fixture
def folder(original: Path, tmp_path: Path) -> Path:
    for file in original.iterdir():
        if file.is_file():
            (tmp_path / file.name).write_bytes(file.read_bytes())
    return tmp_path


def test_missing_and_unexpected_weights_are_listed(folder: Path) -> None:
    def change(weights: dict[str, torch.Tensor]) -> None:
        weights["encoder.layer.2.output.dense.bias"] = weights.pop("encoder.layer.1.output.dense.bias")
        weights["embeddings.LayerNorm.weight"] = torch.ones(8)

    change_weights(folder, change)
    assert refusal(folder) == (
        f"{folder}: the weights are not those of this RobertaModel:\n"
        "  - missing: encoder.layer.1.output.dense.bias\n"
        "  - unexpected: encoder.layer.2.output.dense.bias\n"
        "  - embeddings.LayerNorm.weight: (8,) where the configuration asks for (16,)"
    )


def test_a_dropout_that_drops_everything_is_refused(folder: Path) -> None:
    change_settings(folder, hidden_dropout_prob=1.0)
    assert "hidden_dropout_prob must be a number from 0 to below 1, not 1.0" in refusal(folder, load=True)


def write_other(folder: Path, model_type: str, **settings: Any) -> None:
    """Replace the model in a folder by a random model of another architecture."""
    from transformers import AutoConfig, AutoModel

    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    AutoModel.from_config(AutoConfig.for_model(model_type, **sizes, **settings)).save_pretrained(folder)


@pytest.mark.parametrize(
    ("model_type", "settings", "reason"),
    [
        ("bros", {"vocab_size": 600}, "BrosModel cannot be run on token ids alone: You have to specify bbox"),
        ("mra", {"vocab_size": 600}, "MraModel computes the state of each token from that token alone here"),
        (
            "fsmt",
            {"src_vocab_size": 600, "tgt_vocab_size": 600, "d_model": 16, "langs": ["en", "de"]},
            "FSMTModel gives logits, not states of the tokens. Add ':encoder' to use the encoder alone.",
        ),
    ],
)
def test_models_without_states_of_tokens_are_refused(
    model_type: str, settings: dict[str, Any], reason: str, folder: Path
) -> None:
    write_other(folder, model_type, **settings)
    assert reason in refusal(folder, load=True)


def test_models_that_read_no_token_ids_are_refused(folder: Path) -> None:
    change_settings(folder, model_type="canine")
    assert refusal(folder) == f"{folder}/config.json: CanineModel has no table of token embeddings."
    change_settings(folder, model_type="vit")
    assert refusal(folder) == f"{folder}/config.json: ViTModel reads no text."


def test_the_vocabulary_must_fit_the_embeddings(folder: Path) -> None:
    tokens, table = write_tokenizer("roberta", folder), "embeddings.word_embeddings.weight"
    change_settings(folder, vocab_size=tokens - 10)
    change_weights(folder, lambda weights: weights.update({table: weights[table][: tokens - 10].clone()}))
    reason = f"the vocabulary has {tokens} tokens, the model only {tokens - 10} embeddings."
    assert refusal(folder) == f"{folder}: {reason}"


def test_an_unknown_architecture_is_refused(folder: Path) -> None:
    change_settings(folder, model_type="roberto")
    message = refusal(folder)
    assert message.startswith(f"{folder}/config.json: transformers ")
    assert message.endswith(" has no architecture 'roberto'.")


def test_code_of_the_checkpoint_never_runs(folder: Path) -> None:
    """An architecture that the library has is computed by the library, whatever the checkpoint asks for."""
    (folder / "modeling.py").write_text("raise SystemExit('code of the checkpoint ran')")
    names = {"AutoModel": "modeling.A", "AutoConfig": "modeling.B", "AutoTokenizer": ["modeling.C", "modeling.C"]}
    change_settings(folder, auto_map=names, attn_implementation="somebody/kernels", quantization_config=None)
    encoder = backbone_of(folder).load(Workspace(folder, folder), seed=0)
    assert type(encoder.get_submodule("model")).__module__ == "transformers.models.roberta.modeling_roberta"


@pytest.mark.parametrize(
    "changes, part",
    [
        ({"hidden_size": 1 << 40}, "cannot be made of these settings"),
        ({"vocab_size": 10**13}, "describes"),
        ({"num_hidden_layers": -3}, "unexpected: encoder.layer.0"),
        ({"intermediate_size": "many"}, "not a configuration of 'roberta'"),
        ({"quantization_config": {"quant_method": "bitsandbytes"}}, "the weights are quantized"),
    ],
)
def test_absurd_settings_are_refused_without_memory(folder: Path, changes: dict[str, Any], part: str) -> None:
    change_settings(folder, **changes)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    message = refusal(folder)
    assert part in message and str(folder) in message
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000, "kilobytes"


def test_pickles_hold_tensors_only(folder: Path, tmp_path: Path) -> None:
    class Code:
        def __reduce__(self) -> tuple[Any, ...]:
            return exec, (f"open({str(tmp_path / 'ran')!r}, 'w')",)

    (folder / "model.safetensors").unlink()
    torch.save({"embeddings.word_embeddings.weight": Code()}, folder / "pytorch_model.bin")
    assert "the weights cannot be read" in refusal(folder)
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Code()))
    assert "the weights cannot be read" in refusal(folder)
    assert not (tmp_path / "ran").exists()


def test_pickled_tensors_may_not_be_larger_than_their_file(folder: Path) -> None:
    """A tensor of one number repeated 10^12 times takes a few bytes on disk."""
    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    weights["embeddings.word_embeddings.weight"] = torch.zeros(1).expand(10**11, 16)
    torch.save(weights, folder / "pytorch_model.bin")
    change_settings(folder, vocab_size=10**11)
    assert "the files of weights have only" in refusal(folder)


FAST = ("int8", "bool", "NaN in a rare word", "bin with NaN", "prepends 1 MB", "an id of 4 * 10^9", "10^9 layers")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in FAST else pytest.mark.slow) for name in DAMAGES]
)
def test_a_damaged_checkpoint_is_refused_with_its_file(original: Path, tmp_path: Path, name: str) -> None:
    check_damage(TransformersFamily(), original, tmp_path, *DAMAGES[name], kilobytes=250_000)


def test_a_hub_id_offline_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for reference in ("somebody/absent", "FacebookAI/roberta-base"):
        workspace = Workspace(runs=tmp_path, cache=tmp_path, settings=Settings(offline=True))
        with pytest.raises(CheckpointError, match="is not in the local cache") as caught:
            backbone = TransformersFamily().find(reference, workspace)
            assert backbone is not None
            backbone.load(workspace, seed=0)
        assert "\n" not in str(caught.value)


def test_layers_are_counted_before_a_fit(tmp_path: Path) -> None:
    workspace, counts = Workspace(tmp_path, tmp_path), {}
    for name in ("bart", "bart:encoder", "albert"):
        write_model(name.partition(":")[0], tmp_path / name.partition(":")[0])
        backbone = backbone_of(tmp_path / name)
        try:
            counts[name] = backbone.layer_count(workspace)
        except RequestError as error:
            assert "AlbertModel has no layers with weights of their own" in str(error)
        weights = sum(weight.numel() for weight in backbone.load(workspace, seed=0).parameters())
        assert weights == pytest.approx(backbone.weight_count(workspace), rel=0.5)
    assert counts == {"bart": 4, "bart:encoder": 2}


@pytest.mark.slow
def test_hostile_checkpoints_end_in_one_sentence(original: Path, tmp_path: Path) -> None:
    check_hostile("transformers", original, tmp_path, at_least=300)
