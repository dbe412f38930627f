"""Folders with vocabulary files only are read, and folders without a usable tokenizer get one sentence."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest
from tiny_tokenizers import TEXTS, write_tokenizer
from tokenizer_samples import read_ours, write_samples

from benchrunner import CheckpointError, RequestError
from benchrunner_transformers.checkpoint import tokenizer_files


def changed(path: Path, **changes: Any) -> dict[str, Any]:
    """Change keys of a JSON file; return its contents."""
    contents = json.loads(path.read_text(encoding="utf-8")) | changes
    path.write_text(json.dumps(contents), encoding="utf-8")
    return dict(contents)


def vocabulary(folder: Path) -> tuple[list[str], list[list[str]]]:
    """Return the tokens and the merges of a tokenizer.json, and remove the file."""
    path = folder / "tokenizer.json"
    contents = json.loads(path.read_text(encoding="utf-8"))
    path.unlink()
    ids = contents["model"]["vocab"] | {token["content"]: token["id"] for token in contents["added_tokens"]}
    return sorted(ids, key=ids.__getitem__), contents["model"].get("merges", [])


@pytest.mark.parametrize("model_type", ["bert", "deberta", "gpt2", "roberta"])
def test_vocabulary_files_are_enough(model_type: str, tmp_path: Path) -> None:
    """A list of pieces, or numbered pieces and merges."""
    write_samples(model_type, tmp_path)
    expected = read_ours(tmp_path).assemble(TEXTS, TEXTS[::-1], 60).tokens.tolist()
    tokens, merges = vocabulary(tmp_path)
    if model_type == "bert":
        (tmp_path / "vocab.txt").write_text("".join(f"{token}\n" for token in tokens), encoding="utf-8")
    else:
        numbered = {token: number for number, token in enumerate(tokens)}
        (tmp_path / "vocab.json").write_text(json.dumps(numbered), encoding="utf-8")
        lines = ["#version: 0.2", *map(" ".join, merges), ""]
        (tmp_path / "merges.txt").write_text("\n".join(lines), encoding="utf-8")
    assert read_ours(tmp_path).assemble(TEXTS, TEXTS[::-1], 60).tokens.tolist() == expected


def refusal(folder: Path, model_type: str = "roberta", **settings: Any) -> str:
    """Read the tokenizer of a folder that has none that could be read, and return the error."""
    (folder / "config.json").write_text(json.dumps({"model_type": model_type}), encoding="utf-8")
    if settings:
        (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    with pytest.raises(CheckpointError) as caught:
        read_ours(folder)
    message = str(caught.value)
    assert "\n" not in message
    return message.removeprefix(f"{folder}")


@pytest.mark.parametrize("model_type", ["bert", "modernbert", "roberta", "t5"])
def test_a_folder_without_tokenizer_is_refused(model_type: str, tmp_path: Path) -> None:
    assert refusal(tmp_path, model_type) == ": there is no tokenizer, neither tokenizer.json nor a vocabulary."


def test_a_vocabulary_of_another_kind_is_refused(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("a\nb\n", encoding="utf-8")
    assert refusal(tmp_path) == ": there is no tokenizer; expected one of merges.txt, tokenizer.json, vocab.json."


def test_a_tokenizer_that_asks_for_code_is_refused(tmp_path: Path) -> None:
    write_tokenizer("roberta", tmp_path)
    (tmp_path / "own.py").write_text("raise SystemExit('the code ran')", encoding="utf-8")
    assert refusal(tmp_path, auto_map={"AutoTokenizer": ["own.Own", "own.Own"]}) == (
        "/tokenizer_config.json: the tokenizer asks for code of its own (auto_map), which benchrunner never runs."
    )


def test_a_model_without_fast_tokenizer_is_refused(tmp_path: Path) -> None:
    (tmp_path / "vocab.json").write_text("{}", encoding="utf-8")
    expected = ": this model has no fast tokenizer, which benchrunner needs: XLMTokenizer is written in Python."
    assert refusal(tmp_path, "xlm") == expected


@pytest.mark.parametrize("text", ["{}", "{nonsense"])
def test_a_damaged_tokenizer_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text(text, encoding="utf-8")
    assert refusal(tmp_path).startswith("/tokenizer.json: not a tokenizer: ")


def test_a_vocabulary_without_unknown_token_is_refused(tmp_path: Path) -> None:
    write_tokenizer("bert", tmp_path)
    (tmp_path / "tokenizer_config.json").unlink()
    message = refusal(tmp_path, "funnel")
    assert message.startswith(": the tokenizer cannot encode every text: WordPiece error: Missing [UNK] token")


def test_a_sentencepiece_model_needs_its_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenizer_files, "_is_installed", lambda module: module != "sentencepiece")
    (tmp_path / "spm.model").write_bytes(b"")
    assert refusal(tmp_path, "deberta-v2") == (
        ": the tokenizer is the sentencepiece model spm.model, which cannot be converted without sentencepiece: "
        "pip install sentencepiece protobuf, or add the model's tokenizer.json."
    )


@pytest.mark.parametrize("key", ["fast_tokenizer_files", "vocab", "spm_file"])
def test_no_tokenizer_is_read_from_outside_of_its_folder(key: str, tmp_path: Path) -> None:
    folder, other = tmp_path / "model", tmp_path / "other"
    for place in (folder, other):
        place.mkdir()
        write_samples("roberta", place)
    outside = other / "tokenizer.4.0.json"
    (other / "tokenizer.json").rename(outside)
    place = [f"../other/{outside.name}"] if key == "fast_tokenizer_files" else str(outside)
    changed(folder / "tokenizer_config.json", **{key: place})
    with pytest.raises(CheckpointError, match=r"would be read from .*other/tokenizer.4.0.json, outside of its folder"):
        read_ours(folder)
    changed(folder / "tokenizer_config.json", **{key: [], "special_tokens_map_file": str(outside)})
    read_ours(folder)


def test_dropout_of_bpe_is_switched_off(tmp_path: Path) -> None:
    write_samples("modernbert", tmp_path)
    plain, file = read_ours(tmp_path), tmp_path / "tokenizer.json"
    changed(file, model=changed(file)["model"] | {"dropout": 0.9})
    drawn = read_ours(tmp_path)
    assert drawn.assemble(TEXTS, None, 60).tokens.tolist() == plain.assemble(TEXTS, None, 60).tokens.tolist()
    assert drawn.notes == ("the tokenizer would draw tokens at random (dropout); this is switched off",)
    assert drawn.fingerprint == plain.fingerprint and not plain.notes
    drawn.save(tmp_path)
    assert not read_ours(tmp_path).notes


def test_sequences_need_room_for_a_token_of_each_text(tmp_path: Path) -> None:
    write_samples("roberta", tmp_path)
    tokenizer = read_ours(tmp_path)
    for second, least in ((["b"], 6), (None, 3)):
        with pytest.raises(
            RequestError, match=f"A sequence needs at least {least} tokens here; max_length is {least - 1}"
        ):
            tokenizer.assemble(["a"], second, least - 1)
    assert tokenizer.assemble([], None, 9).starts.tolist() == [0] and tokenizer.pieces([]).starts.tolist() == [0]


def test_truncation_on_the_left_keeps_the_last_tokens(tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    write_samples("roberta", tmp_path)
    changed(tmp_path / "tokenizer_config.json", truncation_side="left")
    theirs = AutoTokenizer.from_pretrained(tmp_path)(TEXTS, TEXTS[::-1], truncation="longest_first", max_length=30)
    ours = read_ours(tmp_path).assemble(TEXTS, TEXTS[::-1], 30)
    assert ours.tokens.tolist() == [token for row in theirs["input_ids"] for token in row]


def test_a_large_vocabulary_is_read_without_the_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For vocabularies of more than 100,000 tokens, transformers asks the hub about the model if it may."""

    def refuse(*arguments: Any, **options: Any) -> Any:
        raise AssertionError("the network is asked")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    write_samples("xlm-roberta", tmp_path)
    model = changed(tmp_path / "tokenizer.json")["model"]
    model["vocab"] += [[f"piece {number}", -20.0] for number in range(100_000)]
    changed(tmp_path / "tokenizer.json", model=model)
    assert read_ours(tmp_path).size == 100_405


def test_an_id_of_a_milliard_in_any_file_is_refused_unread(tmp_path: Path) -> None:
    """The library took the memory of all ids up to the largest, and the process was aborted."""
    write_samples("roberta", tmp_path)
    changed(tmp_path / "tokenizer_config.json", fast_tokenizer_files=["tokenizer.1.0.0.json"])
    contents = changed(tmp_path / "tokenizer.json")
    contents["model"]["vocab"]["huge"] = 10**9
    (tmp_path / "tokenizer.1.0.0.json").write_text(json.dumps(contents), encoding="utf-8")
    with pytest.raises(CheckpointError, match=r"tokenizer\.1\.0\.0\.json: a token has the id 1,000,000,000"):
        read_ours(tmp_path)


def test_a_panic_in_rust_is_one_sentence(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write_samples("modernbert", tmp_path)
    contents = changed(tmp_path / "tokenizer.json")
    contents["post_processor"]["pair"][0]["SpecialToken"]["id"] = "[NONE]"
    changed(tmp_path / "tokenizer.json", **contents)
    with pytest.raises(CheckpointError, match="the tokenizer cannot encode every text: no entry found for key"):
        read_ours(tmp_path)
    assert "panicked" not in capfd.readouterr().err


PUBLISHED = {
    "GPT-2": r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    "Llama 3": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+",
    "Qwen": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+",
    "cl100k": r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$"
    r"|\s*[\r\n]|\s+(?!\S)|\s",
    "o200k": r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "DeepSeek V3": r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
    r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "BLOOM": r" ?[^(\s|[.,!?…。，、।۔،])]+",
    "CLIP": r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+",
    "DeBERTa v3, T5": r" {2,}",
}
"""Regular expressions of published tokenizers. ModernBERT and DeBERTa have GPT-2's, which is built into the library."""


@pytest.mark.parametrize(
    "pattern", [*PUBLISHED.values(), r"\(a+\)+", "[(a+)]+", "(a+)(b+)", "(?:ab)+c+", "(a+)?b+", "a)+(b", "[^]()a+]*)*"]
)
def test_patterns_of_published_tokenizers_pass(pattern: str) -> None:
    """Also other groups that repeat once."""
    tokenizer_files._check_pattern(Path("tokenizer.json"), {"Regex": pattern})


@pytest.mark.parametrize(
    "pattern", ["(a+)+$", "(x+x+)+y", "(a*)*b", "((a+))*b", "(?:[)a]{2,}|b)+c", r"(?:\(a+\))*", "(a{1,}b)+", "((a+)?)+"]
)
def test_a_group_that_repeats_inside_and_out_is_found(pattern: str) -> None:
    with pytest.raises(CheckpointError, match="repeats a group that repeats something"):
        tokenizer_files._check_pattern(Path("tokenizer.json"), {"Regex": pattern})


def test_an_endless_pattern_is_refused_in_one_sentence(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A text of sixty letters ended in a panic of the library that reads patterns, after ten million attempts."""
    write_samples("modernbert", tmp_path)
    endless = {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated", "invert": False}
    parts = [endless, changed(tmp_path / "tokenizer.json")["pre_tokenizer"]]
    changed(tmp_path / "tokenizer.json", pre_tokenizer={"type": "Sequence", "pretokenizers": parts})
    with pytest.raises(CheckpointError, match=r"tokenizer\.json: the regular expression '\(a\+\)\+\$' repeats a group"):
        read_ours(tmp_path).pieces(["a" * 60 + "!"])
    assert "panicked" not in capfd.readouterr().err
