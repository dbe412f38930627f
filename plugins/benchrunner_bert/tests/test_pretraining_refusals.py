"""What cannot be pre-trained is refused before anything is lost, with what is wrong and what to do."""

from __future__ import annotations

import resource
import sys
from pathlib import Path

import pytest
from pretraining_runs import corpus, run, words

from benchrunner import RequestError
from benchrunner.command_line.main import main
from benchrunner_bert.pretraining.checks import _check_gpus
from benchrunner_bert.pretraining.continuation import check_same
from gpus import pretend


def refused(asked: list[str], capsys: pytest.CaptureFixture[str], code: int = 2) -> str:
    """Run a command in this process; return what it wrote to standard error."""
    try:
        ended = main(asked[asked.index("pretrain") :])
    except SystemExit as end:  # by argparse
        ended = end.code
    assert ended == code
    said = capsys.readouterr().err
    assert "Traceback" not in said
    return said


def write(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return str(path)


def without_size(asked: list[str]) -> list[str]:
    """Leave out the size of a vocabulary that would be learnt."""
    return [word for word in asked if word not in ("--vocab-size", "300")]


def test_more_processes_than_gpus_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(monkeypatch, [(8, 0)] * 2)
    monkeypatch.delenv("DS_ACCELERATOR", raising=False)
    said = refused(words(tmp_path, "out", "--processes", "3"), capsys)
    assert "--processes must be at most 2, the number of GPUs that torch sees" in said
    assert not (tmp_path / "out").exists()
    _check_gpus(2)
    monkeypatch.setenv("DS_ACCELERATOR", "cpu")
    _check_gpus(3)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "mine.json"),
        ('{"train_batch_size": 999}', "--batch-size says how many"),
        ('{"optimizer": {"type": "Adam"}}', "the optimizer is the paper's"),
        ('{"gradient_cliping": 1}', "Did you mean gradient_clipping or"),
    ],
)
def test_a_configuration_that_cannot_be_followed_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, reason: str
) -> None:
    assert reason in refused(words(tmp_path, "out", "--deepspeed-config", write(tmp_path / "mine.json", text)), capsys)
    assert not (tmp_path / "out").exists()


def test_what_deepspeed_does_not_take_is_told_with_the_keys(tmp_path: Path) -> None:
    file = write(tmp_path / "mine.json", '{"zero_optimization": 5}')
    said = run(words(tmp_path, "out", "--deepspeed-config", file), code=2)
    assert "DeepSpeed cannot work with zero_optimization of --deepspeed-config" in said and "Traceback" not in said


@pytest.mark.parametrize(
    ("size", "more", "reason"),
    [
        ("1/32/2", ("--export-at", "2,9"), "A model of step 9 cannot be kept: steps are 1 to 8"),
        ("1/32/2", ("--held-out", "nowhere.txt"), "nowhere.txt: there is no such file"),
        ("1/32/2", ("--processes", "9"), "8 sequences cannot be shared by 9 processes"),
        ("1/32/2", ("--mask", "80/10"), "three rates"),
        ("1/32/2", ("--offload",), "stages 1 to 3"),
        ("1/32/2", ("--input", "document"), "The objective mlm+nsp predicts whether"),
        ("1/32/2", ("--vocab-size", "1000000000"), "--vocab-size must be"),
        ("2/128/3", (), "L/H/A"),
        ("gpt-1/32/2", ("--objective", "mlm"), "A GPT-like model does not learn the objective mlm"),
        ("gpt", (), "A GPT-like model needs a size after 'gpt-'"),
        ("bert-base", (), "The size of a BERT has no prefix"),
        ("gtp-base", (), "Did you mean gpt?"),
        ("1/32/2", ("--batch-size", "9000000", "--length", "500000"), "A batch of 9,000,000 sequences of 500,000"),
        ("1000000/128", (), "A model of the size 1000000/128 has"),
    ],
)
def test_what_cannot_work_is_said_before_a_text_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], size: str, more: tuple[str, ...], reason: str
) -> None:
    """The refusal takes no memory for what was asked."""
    asked = words(tmp_path, "out", *more, size=size)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert reason in refused(asked, capsys)
    assert not (tmp_path / "out").exists()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000, "kilobytes"


def test_a_finished_run_gives_nothing_that_it_was_not_asked_for(tmp_path: Path) -> None:
    run(words(tmp_path, "out", "--held-out", str(corpus(tmp_path / "held", seed=1)), "--export-at", "1", steps=2))
    watched = write(tmp_path / "watched.json", '{"wall_clock_breakdown": true}')
    clip = write(tmp_path / "clip.json", '{"gradient_clipping": 0.001}')
    held = ("--held-out", str(tmp_path / "held"))
    for more, said in (
        ((*held, "--export-at", "1,2"), "finished without a model of step 2"),
        (("--held-out", str(corpus(tmp_path / "other", seed=2))), "held out ['novels.txt'"),
        ((*held, "--deepspeed-config", clip), "gradient clipping None, now 0.001"),
    ):
        assert said in run(words(tmp_path, "out", *more, steps=2), code=2)
    run(words(tmp_path, "out", *held, "--deepspeed-config", watched, "--name", "again", steps=2))
    assert (tmp_path / "runs" / "pretrained" / "again.json").is_file(), "a name can be given later"


def test_a_text_that_the_vocabulary_cannot_spell_is_refused(tmp_path: Path) -> None:
    pieces = write(tmp_path / "vocab.txt", "\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "ж", "##ж"]))
    said = run([*without_size(words(tmp_path, "out")), "--vocab", pieces], code=2)
    assert "Step 1 has no token to predict" in said and "Traceback" not in said


def test_of_several_texts_the_one_that_changed_is_named() -> None:
    begun = {"corpus": [["a.txt", "1" * 64], ["b.txt", "2" * 64]], "overrides": {"gradient_clipping": 0.5}}
    now = {"corpus": [["a.txt", "1" * 64], ["b.txt", "4" * 64]], "overrides": {}}
    told = r"- corpus \['b.txt', '2222.*, now \['b.txt', '4444(.|\n)*- gradient clipping 0\.5, now None"
    with pytest.raises(RequestError, match=told):
        check_same(begun, now, Path("out"))


def test_a_file_where_the_run_should_be_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "out", "mine")
    assert "this is a file; name a folder" in refused(words(tmp_path, "out"), capsys)
    assert (tmp_path / "out").read_text(encoding="utf-8") == "mine"


def test_without_deepspeed_the_extra_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "deepspeed", None)
    assert "pip install 'benchrunner[pretrain]'" in refused(words(tmp_path, "out"), capsys)
