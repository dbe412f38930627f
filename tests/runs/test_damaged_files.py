"""Damage to every file that a fit and the cache leave gives the same bits or one error, and never other results."""

import json
import mmap
import os
import random
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchrunner import ACCURACY, Recipe, RequestError, Task, Workspace
from benchrunner.backbones.backbone import Backbone, OneBackbone
from benchrunner.backbones.encoder import Encoder
from benchrunner.data.sources import RowsFrom
from benchrunner.fits.progress import Event
from benchrunner.results import Computing, Runner
from benchrunner.runs.predicting import decoding_settings, predict, raw_outputs
from benchrunner.tasks.task import Split
from benchrunner.training.feature_cache import Cache
from benchrunner_kinds import MultiLabel
from benchrunner_kit.testing import WEIGHTS, TinyEncoder
from inline import plugins
from kinds_of_tasks import rows_of_kind

SPLITS = {"train": "train", "dev": "dev", "test": "test", "more": "dev"}
TASK = Task(
    "mine/moods",
    "Which moods?",
    MultiLabel(("glad", "sad"), tune_threshold=True),
    {
        name: Split(role, (RowsFrom(lambda workspace, seed=seed: rows_of_kind("labels", 24, seed)),))  # type: ignore[misc, arg-type]
        for seed, (name, role) in enumerate(SPLITS.items())
    },
    (ACCURACY,),
    Recipe(lr=0.02, epochs=1, batch_size=8, bilstm_width=8, features="last"),
)


@dataclass(frozen=True)
class Weights(Backbone):
    """A tiny encoder in a folder. Its revision is the hash that the cache keeps of the file of weights."""

    folder: Path
    name: str = "mine/weights"
    about: str = "for tests"
    file: str = WEIGHTS

    def revision(self, workspace: Workspace) -> str:
        return Cache(workspace.cache).file_hash(self.folder / self.file)

    def load(self, workspace: Workspace, *, seed: int) -> Encoder:
        return TinyEncoder.read(self.folder)


@dataclass
class Results:
    """What commands give in a workspace: values by name, or the error instead."""

    values: dict[str, Any] = field(default_factory=dict)
    refusals: dict[str, str] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def ask(self, name: str, value: Callable[[], Any]) -> None:
        """Keep the value, the sentence of a refusal, or the fault that a user must never see."""
        signal.alarm(60)
        try:
            self.values[name] = value()
        except RequestError as error:
            self.refusals[name] = str(error)
        except Exception as error:
            self.faults[name] = f"{type(error).__name__}: {error}"
        finally:
            signal.alarm(0)


def made(home: Path, results: Results, name: str = WEIGHTS) -> Runner:
    """Return a new runner in a workspace; the revision of its backbone is the hash of the file of this name."""
    weights = Weights(home / "weights", file=name)
    family = OneBackbone(weights, lambda folder: Weights(folder) if (folder / WEIGHTS).is_file() else None)

    def report(fit: Any, event: Event) -> None:
        if event.kind == "note":
            results.notes.append(event.text)

    workspace = Workspace(home / "runs", home / "cache", data=home)
    own = plugins(register_tasks=[TASK], register_leaderboards=[], register_backbones=[family])
    return Runner(own, workspace, Computing("cpu"), report=report)


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="needs a tmpfs")
def test_a_fit_notices_weights_changed_through_a_memory_map() -> None:
    """On a tmpfs, this changes neither size nor times, and the cache compares a sample of the content only."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as home:
        folder = Path(home)
        (folder / "weights").mkdir()
        TinyEncoder(seed=0).save(folder / "weights")
        path = folder / "weights" / "large.bin"
        path.write_bytes(bytes(1 << 22))
        runner = made(folder, Results(), name=path.name)
        task = runner.plugins.tasks.find("mine/moods")
        fit = runner.planner.plan(task, "mine/weights")
        facts = path.stat()
        with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as content:
            content[30_000] ^= 1  # the sample has 4 KB of every 66 KB
        after = path.stat()
        assert (after.st_mtime_ns, after.st_ctime_ns) == (facts.st_mtime_ns, facts.st_ctime_ns)
        assert runner.planner.plan(task, "mine/weights").id == fit.id
        with pytest.raises(RequestError, match=r"The backbone of the fit .* \(mine/moods, mine/weights\) changed"):
            runner.run(fit)


def results_of_run(home: Path) -> Results:
    """Read everything that the finished fit left: its answers, its settings, and answers that need its weights."""
    results = Results()
    runner = made(home, results)
    fit = runner.planner.plan(TASK, "mine/weights", method="finetune")
    for split in ("dev", "test", "more"):
        results.ask(split, lambda split=split: _prediction(runner, fit, split))  # type: ignore[misc]
    results.ask("settings", lambda: dict(decoding_settings(fit, runner)))
    results.ask("outputs", lambda: np.array(raw_outputs(fit, runner.planner.rows(TASK, "dev"), runner)).tobytes())
    results.ask("record", lambda: runner.run(fit).status)
    return results


def results_of_cache(home: Path, runs: str = "new") -> Results:
    """Fit again in an empty runs folder, with the features, the states and the hashes of the cache."""
    results = Results()
    runner = made(home, results).in_workspace(replace(made(home, results).workspace, runs=home / runs))

    def refit() -> Any:
        fit = runner.planner.plan(TASK, "mine/weights", method="features", seed=1)
        record = runner.run(fit)
        head = (runner.folder(fit).model / "head.safetensors").read_bytes() if record.status == "done" else b""
        return fit.id, record.status, record.reason, head, _prediction(runner, fit, "dev")

    results.ask("fit", refit)
    return results


def _prediction(runner: Runner, fit: Any, split: str) -> Any:
    predicted = predict(fit, split, runner)
    return predicted.answers, {name: score.value for name, score in predicted.record.scores.items()}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a workspace with a finished fit, its predictions, and a cache with features, states and hashes."""
    home = tmp_path_factory.mktemp("world")
    (home / "weights").mkdir()
    TinyEncoder().save(home / "weights")
    runner = made(home, Results())
    for method in ("finetune", "features"):
        fit = runner.planner.plan(TASK, "mine/weights", method=method)
        record = runner.run(fit)
        assert record.status == "done", record.reason
        for split in ("dev", "test"):
            predict(fit, split, runner)
        if method == "features":
            shutil.rmtree(runner.folder(fit).path)
    for path in home.glob("runs/*"):
        if not (path / "model" / WEIGHTS).exists():
            shutil.rmtree(path)  # the majority answer, which a fit compares itself with
    return home


@pytest.fixture(scope="module")
def expected(world: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Read an undamaged copy of the workspace."""
    values: dict[str, Any] = {}
    for number, read in enumerate((results_of_run, results_of_cache)):
        home = tmp_path_factory.mktemp("expected") / str(number)
        shutil.copytree(world, home)
        (home / "weights").rename(home / "copied")
        (home / "weights").symlink_to(world / "weights")
        results = read(home)
        assert not results.refusals and not results.faults and not results.notes
        values |= results.values
    return values


def _too_late(number: int, frame: object) -> None:
    raise TimeoutError("the command hangs")


@pytest.fixture
def copied(world: Path, tmp_path: Path) -> Iterator[Path]:
    """Copy the workspace. The weights stay where they are, because memories of their hash are by path."""
    home = tmp_path / "home"
    shutil.copytree(world, home, ignore=shutil.ignore_patterns("weights"))
    (home / "weights").symlink_to(world / "weights")
    before = signal.signal(signal.SIGALRM, _too_late)
    yield home
    signal.signal(signal.SIGALRM, before)


FILES = {
    "runs/*/fit.json": 0,
    "runs/*/family.json": 0,
    "runs/*/record.json": 0,
    "runs/*/tuned.json": 0,
    "runs/*/model/tiny.safetensors": 0,
    "runs/*/model/head.safetensors": 0,
    "runs/*/model/head.json": 0,
    "runs/*/outputs/*.npy": 0,
    "runs/*/outputs/*.json": 0,
    "runs/*/predictions/*/answers.jsonl": 0,
    "runs/*/predictions/*/record.json": 0,
    "runs/*/predictions/*/prediction.json": 0,
    "cache/features/*/tokens.npy": 1,
    "cache/features/*/segments.npy": 1,
    "cache/features/*/starts.npy": 1,
    "cache/features/*/groups.npy": 1,
    "cache/features/*/owner.npy": 1,
    "cache/features/*/targets-*.npy": 1,
    "cache/features/*/contents.json": 1,
    "cache/features/*/checksums.json": 1,
    "cache/states/*/layer-01.npy": 1,
    "cache/states/*/layer-01.json": 1,
    "cache/hashes/*": 1,
}
"""Pattern of files -> 0 if a finished fit is read from them, 1 if a new fit reads them from the cache."""
FOLDERS = {"runs/*/model": 0}
FLIPS = 8


def damaged(path: Path, kind: str, another: Path) -> None:
    """Damage a file in one way; `another` is a file of the same kind."""
    content = path.read_bytes() if path.is_file() else b""
    draw = random.Random(f"{path.name} {kind}")
    if kind in ("folder", "missing", "file"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        if kind != "missing":
            {
                "folder": path.mkdir,
                "file": path.touch,
            }[kind]()
    elif kind == "swapped":
        path.write_bytes(another.read_bytes())
        another.write_bytes(content)
    elif kind == "sparse":
        os.truncate(path, 200 << 20)
    elif kind in ("byte order", "dtype", "doubled rows", "fewer rows"):
        array = np.load(path)
        changed = {
            "byte order": lambda: array.astype(array.dtype.newbyteorder()),
            "dtype": lambda: array.astype(np.float64 if array.dtype.kind == "f" else np.int16),
            "doubled rows": lambda: np.concatenate([array, array]),
            "fewer rows": lambda: array[:-1],
        }[kind]()
        np.save(path, changed)
    elif kind.startswith("flip"):
        place = draw.randrange(len(content))
        flipped = bytearray(content)
        flipped[place] ^= 1 << draw.randrange(8)
        path.write_bytes(flipped)
    elif kind == "edited":
        value = json.loads(content) if path.suffix == ".json" else content.decode()
        path.write_text(
            json.dumps(_edited(value), indent=2) if path.suffix == ".json" else value.replace("glad", "sad")
        )
    else:
        path.write_bytes(
            {
                "empty": b"",
                "cut": content[: len(content) // 2],
                "shorter": content[:-1],
                "longer": content + b"\0",
                "doubled": content * 2,
                "zeros": bytes(len(content)),
                "brackets": b"[" * 100_000,
                "huge number": b'{"id": ' + b"9" * 10_000 + b"}",
            }[kind]
        )


def _edited(value: Any) -> Any:
    """Change each number and the last character of each text, as an editor does."""
    if isinstance(value, dict):
        return {name: _edited(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_edited(inner) for inner in value]
    if isinstance(value, bool) or value is None or value == "":
        return value
    return value + 1 if isinstance(value, int) else 0.99 if isinstance(value, float) else f"{value[:-1]}x"


COMMON = [
    "folder",
    "missing",
    "swapped",
    "sparse",
    "empty",
    "cut",
    "shorter",
    "longer",
    "doubled",
    "zeros",
]
COMMON += ["brackets", *(f"flip {number}" for number in range(FLIPS))]
OF_ARRAYS, OF_JSON = ["byte order", "dtype", "doubled rows", "fewer rows"], ["edited", "huge number"]


def cases() -> list[tuple[str, str]]:
    """List every file with every damage that it can have."""
    pairs = [(folder, "file") for folder in FOLDERS]
    for pattern in FILES:
        kinds = {"npy": OF_ARRAYS, "json": OF_JSON, "jsonl": ["edited"]}.get(pattern.rpartition(".")[2], [])
        for kind in (*COMMON, *kinds):
            if kind != "folder" or not pattern.startswith(("cache/states", "cache/hashes")):  # which nobody meets
                pairs.append((pattern, kind))
    return pairs


QUICK = [
    ("runs/*/record.json", "edited"),
    ("runs/*/tuned.json", "flip 1"),
    ("runs/*/model/head.safetensors", "flip 2"),
    ("runs/*/model/tiny.safetensors", "cut"),
    ("runs/*/outputs/*.npy", "byte order"),
    ("runs/*/predictions/*/answers.jsonl", "doubled"),
    ("runs/*/predictions/*/record.json", "edited"),
    ("runs/*/fit.json", "brackets"),
    ("cache/features/*/tokens.npy", "flip 3"),
    ("cache/states/*/layer-01.npy", "swapped"),
    ("cache/hashes/*", "empty"),
]


@pytest.mark.parametrize(
    ("pattern", "kind"),
    [pytest.param(*case, marks=() if case in QUICK else pytest.mark.slow, id="-".join(case)) for case in cases()],
)
def test_damage_gives_equal_bits_or_a_sentence(copied: Path, expected: dict[str, Any], pattern: str, kind: str) -> None:
    paths = sorted(copied.glob(pattern))
    for number, path in enumerate(paths) if kind != "swapped" else enumerate(paths[:1]):
        damaged(path, kind, paths[(number + 1) % len(paths)] if len(paths) > 1 else _sibling(path))
    is_cache = bool({**FILES, **FOLDERS}[pattern])
    results = results_of_cache(copied) if is_cache else results_of_run(copied)
    assert not results.faults
    for name, value in results.values.items():
        assert value == expected[name], name
    for sentence in results.refusals.values():
        assert "\n" not in sentence and any(str(path.parent) in sentence for path in paths) and "Remove " in sentence
    if is_cache:
        assert not results.refusals
        again = results_of_cache(copied, "newer")
        assert again.values == results.values and not again.notes, "the cache is whole again"


def _sibling(path: Path) -> Path:
    """Return another file of the same folder, or the file itself if it is alone."""
    siblings = [sibling for sibling in path.parent.iterdir() if sibling.is_file() and sibling != path] or [path]
    return max(siblings, key=lambda sibling: (sibling.suffix == path.suffix, sibling.name))


def test_the_tables_name_every_file_that_is_left(world: Path) -> None:
    named = {path for pattern in FILES for path in world.glob(pattern)}
    files = {path for folder in ("runs", "cache") for path in (world / folder).rglob("*") if path.is_file()}
    assert {path.name for path in files - named} <= {".lock", "log.jsonl"}
    assert len(cases()) >= 450 and set(QUICK) <= set(cases())
