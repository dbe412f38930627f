"""Readers of study files, of recipes as texts, and of command lines."""

import contextlib
import functools
import io
import json
from collections.abc import Iterator
from pathlib import Path

from benchrunner.command_line.main import main
from benchrunner.results import Computing, Plugins, Runner
from benchrunner_studies.reading import read_study_file
from benchrunner_studies.recipes import read_recipe
from inline import mood, pairs, plugins as inline_plugins
from readers.reader import NOWHERE, Reader
from study_texts import WHOLE


def studies() -> Iterator[tuple[str, Reader]]:
    """Readers of study files and of recipes as texts."""
    given = {"corpus": "a.txt,b.txt"}
    yield "study file", Reader(lambda path: read_study_file(path, given), "mine.toml", [WHOLE.encode()])
    recipe = {
        "epochs": "1,2",
        "lr": "1e-5,3e-5",
        "batch-size": "16",
        "dropout": "0.1",
        "restarts": "2",
    }
    yield "recipe", Reader(of_recipe, "recipe", [json.dumps(recipe).encode()], named=" ")
    words = "--epochs 1,2 --lr 1e-5 --batch-size 16 --method finetune --restarts 2 --limit-train 10 --seed 0"
    yield "command line", Reader(of_words, "words", [words.encode(), b"--grid x --keep all --max-length 12"], named=" ")


@functools.cache
def core_plugins() -> Plugins:
    return inline_plugins(register_tasks=[mood(), pairs()])


def of_recipe(path: Path) -> object:
    """Read options as the texts of a study file's recipe."""
    try:
        texts = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return None
    if not isinstance(texts, dict):
        return None
    texts = {str(key): value if isinstance(value, str) else json.dumps(value) for key, value in texts.items()}
    options = read_recipe(texts, "recipe", core_plugins())
    options.study(("words",), [core_plugins().tasks.find("mood")], Runner(core_plugins(), NOWHERE, Computing("cpu")))
    return None


def of_words(path: Path) -> object:
    """Parse a command line; the exit code is that of a request that is or is not understood."""
    words = path.read_bytes().decode("utf-8", "replace").split(" ")
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            code = main(["--parse-only", "run", "mood", "--backbone", "words", *words], plugins=core_plugins())
        except SystemExit as stopped:
            code = int(stopped.code or 0)
    assert code in (0, 2) and "Traceback" not in out.getvalue()
    return None
