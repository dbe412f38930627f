"""Fits whose state DeepSpeed shares among processes have the losses of fits without DeepSpeed, and go on exactly."""

import os
import signal
from pathlib import Path

import pytest
from fit_commands import Command

from benchrunner import RequestError
from benchrunner.results import Computing
from cluster_plugin import Home

pytest.importorskip("deepspeed")
OTHER_TESTS = Path(__file__).parents[2] / "transformers" / "tests"
WHOLE = ("--devices-per-fit", "2", "--zero", "3", "--offload")
CLOSE = 1e-5


def check_equal(home: Home, name: str, ways: tuple[str, ...], *words: str) -> Command:
    """Fit without DeepSpeed and with it, with equal losses; return the second command."""
    plain, shared = Command(home, f"{name}-plain", *words), Command(home, f"{name}-shared", *ways, *words)
    expected = plain.losses()
    assert len(set(expected)) == len(expected) > 5
    assert shared.losses() == pytest.approx(expected, abs=CLOSE)
    return shared


def test_the_third_stage_has_the_losses_of_one_device(home: Home) -> None:
    shared = check_equal(home, "third", WHOLE, "--epochs", "2", "--dropout", "0.1")
    assert shared.record()["numerics"]["devices"] == "2, ZeRO 3 with offload"
    assert shared.process.communicate() == (shared.process.output(), "")
    assert shared.others() == []


@pytest.mark.slow
@pytest.mark.parametrize("devices", ["1", "2"])
@pytest.mark.parametrize("stage", ["1", "2", "3"])
def test_every_stage_has_the_losses_of_one_device(stage: str, devices: str, home: Home) -> None:
    check_equal(home, f"stage-{stage}-{devices}", ("--devices-per-fit", devices, "--zero", stage), "--epochs", "2")


@pytest.mark.slow
def test_a_bert_can_be_shared(home: Home) -> None:
    check_equal(home, "bert", WHOLE, "--backbone", "bert/random-tiny", "--lr", "1e-3", "--summary", "mean")


@pytest.mark.slow
@pytest.mark.parametrize("method", ["finetune", "lora"])
def test_a_decoder_can_be_shared(method: str, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("transformers")
    monkeypatch.syspath_prepend(str(OTHER_TESTS))
    from tiny_models import SETTINGS, save_random, special_tokens
    from tiny_tokenizers import write_tokenizer
    from transformers import AutoConfig

    folder = home.folder / f"llama-{method}"
    folder.mkdir()
    words = write_tokenizer("qwen2", folder)
    settings = {**special_tokens(folder), "vocab_size": words, **SETTINGS["qwen2"]}
    save_random(AutoConfig.for_model("llama", **settings), folder)
    check_equal(home, method, WHOLE, "--backbone", str(folder), "--method", method, "--lr", "1e-3")


@pytest.mark.slow
def test_a_shared_fit_goes_on_from_its_checkpoint(home: Home) -> None:
    """With DeepSpeed bit for bit, and without it up to rounding."""
    whole = Command(home, "whole-fit", *WHOLE, "--epochs", "9").losses()
    for name, ways in (("again", WHOLE), ("without", ())):
        killed = Command(home, name, *WHOLE, "--epochs", "9", "--checkpoint-every", "0")
        killed.wait_for_steps()
        (helper,) = killed.others()
        os.kill(helper, signal.SIGKILL)
        assert killed.process.wait() == 1
        assert "was ended by SIGKILL" in killed.process.communicate()[1] + killed.process.output()
        losses = Command(home, name, *ways, "--epochs", "9").losses()
        assert losses == (whole if ways else pytest.approx(whole, abs=CLOSE))


def test_offload_alone_is_refused() -> None:
    with pytest.raises(RequestError, match="--offload is for ZeRO's stages 1 to 3: give --zero, too"):
        Computing("cpu", offload=True).check_devices()


@pytest.mark.slow
def test_rates_by_layer_are_refused(home: Home) -> None:
    refused = Command(home, "refused", "--zero", "1", "--layer-decay", "0.9")
    assert refused.process.wait() == 1
    told = "".join(refused.process.communicate())
    assert "--zero has one learning rate for all weights: leave --layer-decay out." in " ".join(told.split())
