"""Damages of checkpoints in the hub's layout, each with what the error must say. Used for every family."""

import json
import os
import resource
import shutil
import time
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

import forked
from benchrunner import RequestError, Workspace
from benchrunner.engine import BackboneFamily
from benchrunner.workspace import Settings
from file_damages import Damage, as_folder, pipe

FILE, BIN = "model.safetensors", "pytorch_model.bin"
MEGABYTE = 1 << 20


def weight(change: Callable[[torch.Tensor], torch.Tensor], place: int = 0) -> Damage:
    """Change one matrix of an attention."""

    def damage(folder: Path) -> None:
        tensors = load_file(folder / FILE)
        name = sorted(name for name in tensors if "attention" in name and tensors[name].ndim == 2)[place]
        tensors[name] = change(tensors[name]).contiguous()
        save_file(tensors, folder / FILE, metadata={"format": "pt"})

    return damage


def embedding(value: float) -> Damage:
    """Put a number into the embedding of a rare word."""

    def damage(folder: Path) -> None:
        tensors = load_file(folder / FILE)
        (name,) = [name for name in tensors if name.endswith("word_embeddings.weight")]
        tensors[name][-2, 3] = value
        save_file(tensors, folder / FILE, metadata={"format": "pt"})

    return damage


def filled(value: float) -> Callable[[torch.Tensor], torch.Tensor]:
    def change(tensor: torch.Tensor) -> torch.Tensor:
        tensor[-1, -1] = value
        return tensor

    return change


def pickled(change: Callable[[dict[str, torch.Tensor]], object] = lambda tensors: None) -> Damage:
    """Write the weights as a .bin file."""

    def damage(folder: Path) -> None:
        tensors = load_file(folder / FILE)
        change(tensors)
        torch.save(tensors, folder / BIN)
        (folder / FILE).unlink()

    return damage


def first(tensors: Mapping[str, torch.Tensor]) -> str:
    return sorted(name for name in tensors if "attention" in name and tensors[name].ndim == 2)[0]


def bomb(folder: Path) -> None:
    """Compress the .bin file, with a gigabyte of zeros among its records."""
    pickled()(folder)
    content = {}
    with zipfile.ZipFile(folder / BIN) as archive:
        content = {entry.filename: archive.read(entry) for entry in archive.infolist()}
    with zipfile.ZipFile(folder / BIN, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, record in content.items():
            archive.writestr(name, record)
        archive.writestr(f"{next(iter(content)).partition('/')[0]}/data/999", bytes(64 * MEGABYTE))


def file(write: Callable[[Path], object]) -> Damage:
    def damage(folder: Path) -> None:
        write(folder / FILE)

    return damage


def tokenizer(change: Callable[[dict[str, Any]], object]) -> Damage:
    """Change tokenizer.json."""

    def damage(folder: Path) -> None:
        path = folder / "tokenizer.json"
        content = json.loads(path.read_text(encoding="utf-8"))
        change(content)
        path.write_text(json.dumps(content), encoding="utf-8")

    return damage


def before(normalizer: Any) -> Callable[[dict[str, Any]], object]:
    def change(content: dict[str, Any]) -> None:
        steps = [normalizer] if isinstance(normalizer, dict) else normalizer
        old = [content["normalizer"]] if content["normalizer"] else []
        content["normalizer"] = {"type": "Sequence", "normalizers": [*steps, *old]}

    return change


def replace(pattern: dict[str, str], content: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": pattern, "content": content}


def settings(**changes: Any) -> Damage:
    def damage(folder: Path) -> None:
        path = folder / "config.json"
        path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | changes), encoding="utf-8")

    return damage


TYPES = "not floating-point numbers"
NUMBERS = "not finite numbers"
SIZES = ("describes", "cannot be made of these settings", "num_hidden_layers is")
UNREADABLE = "cannot be read"

DAMAGES: dict[str, tuple[Damage, str | tuple[str, ...]]] = {
    "int8": (weight(lambda tensor: tensor.to(torch.int8)), TYPES),
    "uint8": (weight(lambda tensor: tensor.to(torch.uint8)), TYPES),
    "int64": (weight(lambda tensor: tensor.to(torch.int64)), TYPES),
    "bool": (weight(lambda tensor: tensor > 0), TYPES),
    "complex": (weight(lambda tensor: tensor.to(torch.complex64)), (TYPES, UNREADABLE)),
    "float8": (weight(lambda tensor: tensor.to(torch.float8_e4m3fn)), TYPES),
    "NaN": (weight(filled(float("nan"))), NUMBERS),
    "infinity": (weight(filled(float("inf")), 1), NUMBERS),
    "minus infinity": (weight(filled(-float("inf")), 2), NUMBERS),
    "NaN in a half": (weight(lambda tensor: filled(float("nan"))(tensor.half())), NUMBERS),
    "NaN in a rare word": (embedding(float("nan")), NUMBERS),
    "infinity in a rare word": (embedding(float("inf")), NUMBERS),
    "all NaN": (weight(lambda tensor: tensor * float("nan")), NUMBERS),
    "bin of int8": (pickled(lambda tensors: tensors.update({first(tensors): tensors[first(tensors)].char()})), TYPES),
    "bin of bool": (pickled(lambda tensors: tensors.update({first(tensors): tensors[first(tensors)] > 0})), TYPES),
    "bin of complex": (
        pickled(lambda tensors: tensors.update({first(tensors): tensors[first(tensors)].to(torch.complex64)})),
        TYPES,
    ),
    "bin with NaN": (pickled(lambda tensors: filled(float("nan"))(tensors[first(tensors)])), NUMBERS),
    "compressed bin": (bomb, "would grow"),
    "half a file": (file(lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])), UNREADABLE),
    "one byte": (file(lambda path: path.write_bytes(b"x")), (UNREADABLE, *SIZES)),
    "empty": (file(lambda path: path.write_bytes(b"")), (UNREADABLE, *SIZES)),
    "a pipe": (file(pipe), "not a regular file"),
    "a pipe for words": (lambda folder: pipe(folder / "tokenizer.json"), "tokenizer.json: not a regular file"),
    "1 TB of nothing": (file(lambda path: os.truncate(path, 1 << 40)), "not a regular file of at most"),
    "1 MB of nothing": (file(lambda path: os.truncate(path, path.stat().st_size + MEGABYTE)), UNREADABLE),
    "a folder": (file(as_folder), "no weights"),
    "no weights": (file(Path.unlink), "no weights"),
    "10^9 layers": (settings(num_hidden_layers=10**9), SIZES),
    "10^6 layers": (settings(num_hidden_layers=10**6), SIZES),
    "width 20,000 x 50": (settings(hidden_size=20_000, num_hidden_layers=50, num_attention_heads=20), SIZES),
    "inner 10^7": (settings(intermediate_size=10**7), SIZES),
    "inner 10^12": (settings(intermediate_size=10**12), SIZES),
    "vocabulary of 4 * 10^9": (settings(vocab_size=4 * 10**9), SIZES),
    "10^9 positions": (settings(max_position_embeddings=10**9), SIZES),
    "10^9 segments": (settings(type_vocab_size=10**9), SIZES),
    "prepends 1 MB": (tokenizer(before({"type": "Prepend", "prepend": "x" * MEGABYTE})), "normalizer"),
    "prepends 200": (tokenizer(before({"type": "Prepend", "prepend": "ab" * 100})), "normalizer"),
    "replaces by 1 MB": (tokenizer(before(replace({"String": "z"}, "a" * MEGABYTE))), "normalizer"),
    "begins with 1 MB": (tokenizer(before(replace({"Regex": "^"}, "a" * MEGABYTE))), "normalizer"),
    "doubles 30 times": (tokenizer(before([replace({"String": "a"}, "aa")] * 30)), "normalizer"),
    "10^6 special tokens": (
        tokenizer(
            lambda content: content.update(
                post_processor={
                    "type": "TemplateProcessing",
                    "single": [{"SpecialToken": {"id": "X", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
                    "pair": [
                        {"SpecialToken": {"id": "X", "type_id": 0}},
                        {"Sequence": {"id": "A", "type_id": 0}},
                        {"Sequence": {"id": "B", "type_id": 1}},
                    ],
                    "special_tokens": {"X": {"id": "X", "ids": [2] * 10**6, "tokens": ["x"] * 10**6}},
                }
            )
        ),
        "special tokens",
    ),
    "an id of 4 * 10^9": (
        tokenizer(lambda content: content["model"]["vocab"].update({"zzzzz": 4 * 10**9})),
        "a token has the id 4,000,000,000",
    ),
    "no JSON": (lambda folder: (folder / "tokenizer.json").write_text("{"), ("not a tokenizer", UNREADABLE, "JSON")),
}
"""Name -> the damage, and a part of the error, or several of which any may be in it."""


def check_damage(
    family: BackboneFamily,
    original: Path,
    tmp_path: Path,
    damage: Damage,
    parts: str | tuple[str, ...],
    *,
    kilobytes: int,
) -> None:
    """Damage a copy of a checkpoint, and check that the family refuses the copy and needs little memory for that."""
    folder = Path(shutil.copytree(original, tmp_path / "checkpoint"))
    damage(folder)
    workspace = Workspace(tmp_path / "runs", tmp_path / "cache", settings=Settings(offline=True))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(RequestError) as caught:
        backbone = family.find(str(folder), workspace)
        assert backbone is not None
        backbone.revision(workspace)  # a command asks for it before its first fit
    check_refusal(str(caught.value), folder, parts)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < kilobytes


def check_refusal(message: str, folder: Path, parts: str | tuple[str, ...]) -> None:
    """Check that an error names the folder, says what is wrong, and has neither control characters nor a flood."""
    assert str(folder) in message, message
    assert any(part in message for part in ((parts,) if isinstance(parts, str) else parts)), message
    assert all(line.isprintable() for line in message.splitlines()) and len(message) < 2000, message


def check_hostile(plugin: str, original: Path, tmp_path: Path, *, at_least: int) -> None:
    """Check that each hostile checkpoint ends within ten seconds, loaded or refused in a sentence that names it."""
    asking = forked.Process(
        [str(Path(__file__).with_name("hostile_checkpoints.py")), plugin, str(original), str(tmp_path)]
    )
    count, refused = 0, 0
    ends = time.monotonic() + 60  # the first one imports the libraries
    while asking.poll() is None:
        assert time.monotonic() < ends, f"nothing came after {asking.output().splitlines()[-1:]}"
        if (now := asking.output().count("\n")) > count:
            count, ends = now, time.monotonic() + 10
        time.sleep(0.1)
    assert asking.communicate()[1] == "" and asking.returncode == 0
    for case, _, message in map(json.loads, asking.output().splitlines()):
        if message:
            refused += 1
            assert str(tmp_path / "checkpoint") in message and "Traceback" not in message, (case, message)
            assert all(line.isprintable() for line in message.splitlines()) and len(message) < 2000, (case, message)
    assert refused >= at_least
