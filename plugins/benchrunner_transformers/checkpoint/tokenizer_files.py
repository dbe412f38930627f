"""Read the tokenizer of a checkpoint folder: a fast tokenizer, without the network and without code from the folder."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from benchrunner import CheckpointError, read_json_object
from benchrunner.engine import first_line
from benchrunner_checkpoints import tokenizer_limits

_FILES = ("tokenizer.json", "vocab*.txt", "vocab*.json", "*.model", "*.tiktoken", "*.vocab")
"""Files that hold vocabularies."""
_CONTENTS = ("vocab", "merges")
"""Settings that hold a vocabulary, or name the file that holds it."""
_NEVER_READ = ("special_tokens_map_file", "added_tokens_file", "tokenizer_config_file", "chat_template_file")
"""Settings with paths of the machine that wrote the file, which the library does not read."""
_ATOM = re.compile(r"\\.|\[\^?\]?(?:\\.|\[[^\]]*\]|[^\]\\])*\]", re.DOTALL)
"""An escaped character of a regular expression, or a class of characters, which may hold other classes."""
_GROUP = re.compile(r"\([^()]*\)")
_REPEAT = re.compile(r"[*+]|\{\d+,\}")
_OPTIONS = {"local_files_only": True, "trust_remote_code": False}


def read_tokenizer(folder: Path, config: Any) -> Any:
    """Read the tokenizer of a model with this configuration, as transformers' AutoTokenizer does."""
    from transformers import AutoTokenizer

    _check_files(folder)
    _check_limits(folder)
    try:
        tokenizer = AutoTokenizer.from_pretrained(str(folder), config=config, use_fast=True, **_OPTIONS)
    except Exception as error:  # the classes of transformers and the Rust side raise exceptions of many kinds
        if slow := _slow_class(config.model_type):
            raise _no_fast_tokenizer(folder, slow) from None
        raise CheckpointError(f"{folder}: the tokenizer cannot be read: {first_line(error)}") from None
    if not tokenizer.is_fast:
        raise _no_fast_tokenizer(folder, type(tokenizer).__name__)
    names = sorted({"tokenizer.json", *type(tokenizer).vocab_files_names.values()})
    if not any((folder / name).is_file() for name in names):
        raise CheckpointError(f"{folder}: there is no tokenizer; expected one of {', '.join(names)}.")
    return tokenizer


def _slow_class(model_type: str) -> str:
    """Return the name of a model type's tokenizer class if it is written in Python, else an empty text."""
    from transformers import PreTrainedTokenizerFast
    from transformers.models.auto.tokenization_auto import TOKENIZER_MAPPING_NAMES, tokenizer_class_from_name

    name = TOKENIZER_MAPPING_NAMES.get(model_type) or ""
    tokenizer_class = tokenizer_class_from_name(name) if name else None
    is_slow = isinstance(tokenizer_class, type) and not issubclass(tokenizer_class, PreTrainedTokenizerFast)
    return name if is_slow else ""


def _no_fast_tokenizer(folder: Path, name: str) -> CheckpointError:
    return CheckpointError(
        f"{folder}: this model has no fast tokenizer, which benchrunner needs: {name} is written in Python."
    )


def _check_files(folder: Path) -> None:
    """Raise `CheckpointError` if there is no tokenizer, if it asks for code, or if packages to read it are missing."""
    settings = folder / "tokenizer_config.json"
    options = read_json_object(settings, error=CheckpointError) if settings.is_file() else {}
    code = options.get("auto_map")
    if code and (not isinstance(code, dict) or code.get("AutoTokenizer")):
        raise CheckpointError(
            f"{settings}: the tokenizer asks for code of its own (auto_map), which benchrunner never runs."
        )
    for name in _named_outside(folder, options):
        raise CheckpointError(
            f"{settings}: the tokenizer would be read from {name}, outside of its folder. Copy the file into the "
            "folder, and name it without a path."
        )
    if not any(path for pattern in _FILES for path in folder.glob(pattern)):
        raise CheckpointError(f"{folder}: there is no tokenizer, neither tokenizer.json nor a vocabulary.")
    models = sorted(folder.glob("*.model"))
    if not models or (folder / "tokenizer.json").is_file():
        return
    if missing := [name for name in ("sentencepiece", "google.protobuf") if not _is_installed(name)]:
        raise CheckpointError(
            f"{folder}: the tokenizer is the sentencepiece model {models[0].name}, which cannot be converted without "
            f"{' and '.join(missing)}: pip install sentencepiece protobuf, or add the model's tokenizer.json."
        )


def _named_outside(folder: Path, options: Mapping[str, Any]) -> Iterator[str]:
    """Yield the files outside of the folder that tokenizer_config.json names, as far as they would be read."""
    for name in versioned_files(options):
        if name != Path(name).name:
            yield name
    for key, value in options.items():
        names_file = key in _CONTENTS or (key.endswith("_file") and key not in _NEVER_READ)
        if names_file and isinstance(value, str) and Path(value).is_file() and Path(value).parent != folder:
            yield value


def versioned_files(options: Mapping[str, Any]) -> list[str]:
    """Return the files that stand for tokenizer.json in some versions of the library transformers."""
    names = options.get("fast_tokenizer_files")
    return [str(name) for name in names] if isinstance(names, list) else []


def _check_limits(folder: Path) -> None:
    """Raise `CheckpointError` for huge token ids, a tokenizer that adds too much to a text, or an endless pattern.

    This is done before the library reads the files, since it copies the tokenizer.
    """
    whole = sorted(folder.glob("tokenizer*.json"))
    for path in whole:
        try:
            tokenizer = Tokenizer.from_file(str(path))
        except Exception as error:  # the Rust side raises plain Exception
            if path.name == "tokenizer.json":
                raise CheckpointError(f"{path}: not a tokenizer: {error}.") from None
            continue  # a file of another version or kind
        tokenizer_limits.check_limits(tokenizer, path)
        for part in filter(None, (tokenizer.normalizer, tokenizer.pre_tokenizer)):
            json.loads(part.__getstate__(), object_hook=partial(_check_pattern, path))
    if folder / "tokenizer.json" in whole:
        return
    for path in (*folder.glob("vocab*.json"), folder / "added_tokens.json"):
        if path.is_file():
            tokenizer_limits.check_ids(read_json_object(path, error=CheckpointError).values(), path)


def _check_pattern(path: Path, table: Mapping[str, Any]) -> None:
    """Raise `CheckpointError` for a regular expression that repeats a group that repeats something, as (a+)+ does.

    Where such a group does not match in the end, the number of ways to try grows exponentially with the text.
    """
    pattern = str(table.get("Regex", ""))
    text = _ATOM.sub("a", pattern)
    while group := _GROUP.search(text):
        is_repeated = _REPEAT.match(text, group.end())
        holds_repeat = _REPEAT.search(group[0])
        if is_repeated and holds_repeat:
            raise CheckpointError(
                f"{path}: the regular expression {pattern!r} repeats a group that repeats something, which can take "
                "for ever. No published tokenizer does; get the file again from its source."
            )
        text = text.replace(group[0], "a*" if holds_repeat else "a", 1)


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # a parent package is missing
        return False
