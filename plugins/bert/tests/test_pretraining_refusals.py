"""What cannot be pre-trained is refused before anything is lost, with what is wrong and what to do."""

from __future__ import annotations

import errno
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from pretraining_runs import corpus, losses, run, words

from benchrunner import RequestError
from benchrunner.command_line.main import main
from benchrunner_bert.pretrained import register
from benchrunner_bert.pretraining.checks import _check_gpus
from benchrunner_bert.pretraining.continuation import check_same
from gpus import pretend

pytest.importorskip("deepspeed", reason="pre-training needs benchrunner-bert's extra 'pretrain'")


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


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *(("--vocab-size", 10**9), ("--length", 10**9), ("--long-length", 10**9), ("--steps", 10**30)),
        *(("--batch-size", 10**12), ("--processes", 10**30), ("--seed", 10**30), ("--keep-checkpoints", 10**12)),
    ],
)
def test_an_absurd_number_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str, value: int
) -> None:
    corpus(tmp_path / "corpus")
    assert " to " in refused(words(tmp_path, "out", option, str(value)), capsys)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("size", "more", "reason"),
    [
        (
            "gpt-1/32/2",
            ["--objective", "mlm"],
            "A GPT-like model does not learn the objective mlm",
        ),
        ("gpt-huge", [], "A size is tiny, mini, small, medium, base, large, L/H or L/H/A such as 4/256/4; not 'huge'"),
        ("gpt", [], "A GPT-like model needs a size after 'gpt-', such as gpt-small."),
        ("bert-base", [], "The size of a BERT has no prefix, such as small."),
        ("gtp-base", [], "There is no architecture 'gtp'. Did you mean gpt?"),
        ("1/32/2", ["--input", "text"], "The objective mlm+nsp predicts whether"),
    ],
)
def test_architectures_refuse_what_they_cannot_learn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], size: str, more: list[str], reason: str
) -> None:
    corpus(tmp_path / "corpus")
    assert reason in refused(words(tmp_path, "out", *more, size=size), capsys)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("size", ["huge", "2/128/3", "0/128", "2/-1", "2", "a/b"])
def test_a_size_that_is_none_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], size: str) -> None:
    corpus(tmp_path / "corpus")
    assert "L/H/A" in refused(words(tmp_path, "out", size=size), capsys)
    assert not (tmp_path / "out").exists()


def test_an_empty_corpus_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "corpus").mkdir()
    write(tmp_path / "corpus" / "blank.txt", "\n \n\t\n")
    assert "corpus is empty" in refused(words(tmp_path, "out"), capsys)


def test_a_vocabulary_that_is_missing_or_lacks_mask_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus(tmp_path / "corpus")
    asked = [word for word in words(tmp_path, "out") if word not in ("--vocab-size", "300")]
    bare = write(tmp_path / "vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\nthe\n")
    assert "without [MASK]" in refused([*asked, "--vocab", bare], capsys)
    assert "nowhere.txt" in refused([*asked, "--vocab", str(tmp_path / "nowhere.txt")], capsys)


def test_more_processes_than_sequences_are_refused(tmp_path: Path) -> None:
    corpus(tmp_path / "corpus")
    assert "cannot be shared by 2 processes" in run(
        words(tmp_path, "out", "--batch-size", "1", "--processes", "2"), code=2
    )


def test_more_processes_than_gpus_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus(tmp_path / "corpus")
    pretend(monkeypatch, [(8, 0)] * 2)
    monkeypatch.delenv("DS_ACCELERATOR", raising=False)
    said = refused(words(tmp_path, "out", "--processes", "3"), capsys)
    assert "--processes must be at most 2, the number of GPUs that torch sees" in said
    assert not (tmp_path / "out").exists()
    _check_gpus(2)
    monkeypatch.setenv("DS_ACCELERATOR", "cpu")
    _check_gpus(3)


@pytest.mark.parametrize("text", ["{", "[1]", '"zero"'])
def test_a_configuration_that_is_none_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    corpus(tmp_path / "corpus")
    file = write(tmp_path / "mine.json", text)
    assert file in refused(words(tmp_path, "out", "--deepspeed-config", file), capsys)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"train_batch_size": 999}', "--batch-size says how many"),
        ('{"optimizer": {"type": "Adam"}}', "the optimizer is the paper's"),
        ('{"gradient_cliping": 1}', "Did you mean gradient_clipping?"),
        ('{"nonsense": 1}', "It may have: aio, bf16"),
    ],
)
def test_keys_that_would_be_ignored_or_break_a_run_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, reason: str
) -> None:
    corpus(tmp_path / "corpus")
    assert reason in refused(words(tmp_path, "out", "--deepspeed-config", write(tmp_path / "mine.json", text)), capsys)
    assert not (tmp_path / "out").exists()


def test_what_deepspeed_does_not_take_is_told_with_the_keys(tmp_path: Path) -> None:
    corpus(tmp_path / "corpus")
    file = write(tmp_path / "mine.json", '{"zero_optimization": 5}')
    said = run(words(tmp_path, "out", "--deepspeed-config", file), code=2)
    assert "DeepSpeed cannot work with zero_optimization of --deepspeed-config" in said and "Traceback" not in said


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        (["--export-at", "2,9"], "A model of step 9 cannot be kept: steps are 1 to 8"),
        (["--export-at", "0"], "A model of step 0 cannot be kept"),
        (["--checkpoint-steps", "0"], "--checkpoint-steps must be a whole number from 1"),
        (["--keep-checkpoints", "0"], "--keep-checkpoints must be a whole number from 1"),
        (["--dropout", "1"], "--dropout must be a number from 0 up and below 1, not 1.0"),
        (["--length", "2"], "--length must be a whole number from 5"),
        (["--held-out", "nowhere.txt"], "nowhere.txt: there is no such file"),
        (["--processes", "9"], "8 sequences cannot be shared by 9 processes"),
        (["--processes", "0"], "--processes must be a whole number from 1 to 1,024, not 0"),
        (["--mask", "80/10"], "three rates"),
        (["--mask", "80/10/20"], "add up to 100"),
        (["--corpus", "nowhere.txt"], "nowhere.txt"),
        (["--offload"], "stages 1 to 3"),
        (["--input", "document"], "The objective mlm+nsp predicts whether"),
        (["--short", "1.5"], "--short must be a number from 0 to 1, not 1.5"),
        (["--other-documents", "unifrom"], "Did you mean uniform?"),
        (["--input", "pair"], "Did you mean pairs?"),
    ],
)
def test_what_cannot_work_is_said_before_a_text_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str], reason: str
) -> None:
    corpus(tmp_path / "corpus")
    assert reason in refused(words(tmp_path, "out", *more), capsys)
    assert not (tmp_path / "out").exists()


def test_a_finished_run_gives_nothing_that_it_was_not_asked_for(tmp_path: Path) -> None:
    corpus(tmp_path / "corpus")
    for name, seed in (("held", 1), ("other", 2)):
        corpus(tmp_path / name, seed=seed)
    held = ["--held-out", str(tmp_path / "held")]
    run(words(tmp_path, "out", *held, "--export-at", "1", steps=2))
    assert "finished without a model of step 2" in run(
        words(tmp_path, "out", *held, "--export-at", "1,2", steps=2), code=2
    )
    assert "held out ['novels.txt'" in run(
        words(tmp_path, "out", "--held-out", str(tmp_path / "other"), steps=2), code=2
    )
    clip = write(tmp_path / "clip.json", '{"gradient_clipping": 0.001}')
    said = run(words(tmp_path, "out", *held, "--deepspeed-config", clip, steps=2), code=2)
    assert "gradient clipping None, now 0.001" in said
    watched = write(tmp_path / "watched.json", '{"wall_clock_breakdown": true}')
    run(words(tmp_path, "out", *held, "--deepspeed-config", watched, "--name", "again", steps=2))
    assert (tmp_path / "runs" / "pretrained" / "again.json").is_file(), "a name can be given later"


def test_a_finished_run_whose_model_is_gone_makes_it_again(tmp_path: Path) -> None:
    corpus(tmp_path / "corpus")
    asked = words(tmp_path, "out", steps=2)
    run(asked)
    weights = tmp_path / "out" / "model" / "model.safetensors"
    before = weights.read_bytes()
    shutil.rmtree(tmp_path / "out" / "model")
    run(asked)
    assert weights.read_bytes() == before
    assert len(losses(tmp_path / "out")) == 2


def test_a_text_that_the_vocabulary_cannot_spell_is_refused(tmp_path: Path) -> None:
    corpus(tmp_path / "corpus")
    given = [word for word in words(tmp_path, "out") if word not in ("--vocab-size", "300")]
    pieces = write(tmp_path / "vocab.txt", "\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "ж", "##ж"]))
    said = run([*given, "--vocab", pieces], code=2)
    assert "Step 1 has no token to predict" in said and "Traceback" not in said


def test_of_several_texts_the_one_that_changed_is_named() -> None:
    begun = {"corpus": [["a.txt", "1" * 64], ["b.txt", "2" * 64], ["c.txt", "3" * 64]]}
    now = {"corpus": [["a.txt", "1" * 64], ["b.txt", "4" * 64], ["c.txt", "3" * 64]]}
    with pytest.raises(RequestError, match=r"- corpus \['b.txt', '2222.*, now \['b.txt', '4444"):
        check_same(begun, now, Path("out"))
    with pytest.raises(RequestError, match=r"- gradient clipping 0\.5, now None"):
        check_same({"overrides": {"gradient_clipping": 0.5}}, {"overrides": {}}, Path("out"))


def test_a_name_announced_for_another_model_is_refused(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        write(tmp_path / name / "config.json", "{}")
    register("mine", tmp_path / "one", "the first", tmp_path / "runs")
    with pytest.raises(RequestError, match="choose another with --name"):
        register("mine", tmp_path / "two", "the second", tmp_path / "runs")
    register("mine", tmp_path / "one", "the same again", tmp_path / "runs")


def test_a_file_where_the_run_should_be_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    corpus(tmp_path / "corpus")
    write(tmp_path / "out", "mine")
    assert "a run is kept in a folder" in refused(words(tmp_path, "out"), capsys)
    assert (tmp_path / "out").read_text(encoding="utf-8") == "mine"


def test_a_name_of_another_model_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    corpus(tmp_path / "corpus")
    other = tmp_path / "other" / "model"
    other.mkdir(parents=True)
    write(other / "config.json", "{}")
    (tmp_path / "runs" / "pretrained").mkdir(parents=True)
    write(tmp_path / "runs" / "pretrained" / "out.json", f'{{"folder": "{other}", "about": ""}}')
    assert "choose another with --name" in refused(words(tmp_path, "out"), capsys)


def test_without_deepspeed_the_extra_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus(tmp_path / "corpus")
    monkeypatch.setitem(sys.modules, "deepspeed", None)
    assert "extra 'pretrain'" in refused(words(tmp_path, "out"), capsys)


def test_an_unreadable_checkpoint_is_named_and_can_be_removed(tmp_path: Path) -> None:
    corpus(tmp_path / "corpus")
    asked = words(tmp_path, "out", "--checkpoint-steps", "4", steps=8)
    run(asked)
    (tmp_path / "out" / "finished.json").unlink()
    last = sorted((tmp_path / "out" / "checkpoints").iterdir())[-1]
    (last / "state.safetensors").write_bytes((last / "state.safetensors").read_bytes()[:1000])
    before = losses(tmp_path / "out")
    said = run(asked, code=2)
    assert f"{last}/state.safetensors: damaged, or edited" in said
    assert f"Remove {last}" in said
    for path in (*last.iterdir(), last):
        path.unlink() if path.is_file() else path.rmdir()
    run(asked)
    assert losses(tmp_path / "out") == before, "it goes on from the checkpoint before"


def test_a_document_longer_than_a_shard_is_whole(tmp_path: Path) -> None:
    from pretraining_texts import numbered

    store = numbered(tmp_path, [[10] * 30, [5]], shard_tokens=64)
    assert len(store.manifest.shards) == 3
    assert list(store.document_starts) == [0, 30, 31]
    assert store.read(0, 305).tolist() == list(range(5, 310))


def test_a_full_disk_stops_with_what_was_saved_before(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus(tmp_path / "corpus")
    from benchrunner_bert.pretraining.training.checkpoints import Checkpoints

    save, saved = Checkpoints.save, list[int]()

    def until_full(self: Checkpoints, step: int, *given: Any, **more: Any) -> None:
        if len(saved) == 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(tmp_path / "out"))
        saved.append(step)
        save(self, step, *given, **more)

    monkeypatch.setattr(Checkpoints, "save", until_full)
    asked = words(tmp_path, "out", "--checkpoint-steps", "2", steps=8)
    assert "No space left on device" in refused(asked, capsys, code=1)
    monkeypatch.undo()
    run(asked)
    run(words(tmp_path, "unbroken", "--checkpoint-steps", "2", steps=8))
    assert losses(tmp_path / "out") == losses(tmp_path / "unbroken")
