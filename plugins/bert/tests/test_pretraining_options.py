"""Every setting of a pre-training can be given on the command line, and the defaults of both are the same."""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path

import pytest

from benchrunner_bert.pretraining import command
from benchrunner_bert.pretraining.corpus.store_writer import Progress
from benchrunner_bert.pretraining.options import request_of
from benchrunner_bert.pretraining.request import Request
from benchrunner_bert.pretraining.settings import Plan, Settings


def requested(*words: str, size: str = "tiny") -> Request:
    parser = argparse.ArgumentParser()
    command.add_options(parser.add_subparsers().add_parser("pretrain"))
    asked = ["pretrain", size, "--corpus", "texts", "--out", "out", *words]
    return request_of(parser.parse_args(asked, argparse.Namespace(words=asked)))


def test_options_that_are_not_given_are_the_defaults() -> None:
    request = requested()
    assert (request.settings, request.plan) == (Settings(), Plan())


@pytest.mark.parametrize(
    ("words", "field", "value"),
    [
        (("--weight-decay", "0.1"), "weight_decay", 0.1),
        (("--bias-correction",), "bias_correction", True),
        (("--objective", "ltr"), "objective", "ltr"),
        (("--objective", "ltr", "--input", "text"), "input", "text"),
        (("--mask", "80/0/20"), "masking", (80.0, 0.0, 20.0)),
    ],
)
def test_an_option_sets_its_setting(words: tuple[str, ...], field: str, value: object) -> None:
    assert getattr(requested(*words).settings, field) == value


def test_a_gpt_like_model_has_its_own_objective_and_input() -> None:
    settings = requested(size="gpt-base").settings
    assert settings == Settings(objective="ltr", input="text")
    assert requested("--input", "pairs", size="gpt-base").settings == Settings(objective="ltr")


def test_every_setting_has_an_option(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        requested("--help")
    text = capsys.readouterr().out
    renamed = {"masking": "mask"}
    names = {renamed.get(field.name, field.name) for field in dataclasses.fields(Settings)}
    assert [name for name in sorted(names) if f"--{name.replace('_', '-')} " not in text.replace("]", " ")] == []
    assert Path("out") == requested().out


def test_names_of_sources_are_escaped_in_the_progress(capsys: pytest.CaptureFixture[str]) -> None:
    printer = command._ProgressPrinter(quiet=False)
    printer.prepared(Progress("\x1b]0;title\x07.txt", 0, 1, 50, 100, 7))
    assert capsys.readouterr().err == "  tokens: 50%, 7 so far (\\x1b]0;title\\x07.txt)\n"
