"""Models of sentence-transformers: their files say how the states of a text's tokens become its vector."""

from __future__ import annotations

from pathlib import Path

from benchrunner import CheckpointError, json_files, read_json_object

FILES = ("modules.json", "1_Pooling/config.json")
"""Files of a sentence-embedding model: what it computes, one module after another, and how it pools."""
_KNOWN = {"Transformer", "Pooling", "Normalize"}
"""Modules of models that are read as published. The length of a vector, which the last one sets to 1, is kept."""
_SUMMARIES = {
    "cls": "first",
    "cls_token": "first",
    "lasttoken": "last",
    "max": "max",
    "max_tokens": "max",
    "mean": "mean",
    "mean_tokens": "mean",
}
"""A mode of pooling, as new and as older files write it -> the value of a recipe's `summary`."""
_OLDER = "pooling_mode_"
"""Beginning of the keys of older files, which have one for each mode: true or false."""


def published_summary(folder: Path) -> str:
    """Return the `summary` that the files in a checkpoint's folder declare.

    It is "pooler", the encoder's own, if the folder is of no sentence-embedding model, or of one with further layers.
    """
    listed, pooling = (folder / name for name in FILES)
    if not (listed.is_file() and pooling.is_file()):
        return "pooler"
    modules = json_files.read_json(listed, error=CheckpointError)
    if not isinstance(modules, list) or not all(isinstance(module, dict) for module in modules):
        raise CheckpointError(f"{listed}: a list of modules was expected.")
    if not {str(module.get("type")).rpartition(".")[2] for module in modules} <= _KNOWN:
        return "pooler"
    settings = read_json_object(pooling, error=CheckpointError)
    older = [key.removeprefix(_OLDER) for key, used in settings.items() if key.startswith(_OLDER) and used]
    mode = settings.get("pooling_mode", "+".join(older))
    if str(mode) not in _SUMMARIES:
        raise CheckpointError(
            f"{pooling}: the model pools by {mode}; cls, lasttoken, max or mean was expected. Say how with "
            "--set summary=first, last, max or mean."
        )
    return _SUMMARIES[mode]
