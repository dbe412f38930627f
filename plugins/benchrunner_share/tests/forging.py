"""Forged shared folders: random edits, hidden as a forger would hide them.

`python forging.py 20000` draws 20,000 edits; `TMPDIR=/dev/shm` makes that faster.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import hashlib
import json
import math
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[3] / "tests" / "support"))

from judging import UNSOUND, Files, Judge
from shared_folders import SharedFolder

from benchrunner import BenchrunnerError
from benchrunner.results import Grid, compared, run_study
from benchrunner.studies.cells import Fitting
from benchrunner_kit.testing import TinyBackbone
from benchrunner_share.documents.contents import FORMAT
from benchrunner_share.documents.derived_files import derived_files
from benchrunner_share.share import share_study
from benchrunner_share.verifying.data_checks import OwnRunners
from benchrunner_share.verifying.verify import verified_study
from chancy import Chancy
from inline import mood, runner

VALUES: tuple[Any, ...] = (
    *(None, True, False, -1, 0, 1, 3, 0.0, 0.5, 0.987, 1.0, 98.7, "", "98.70", "best model", [], {}, [0.987]),
    *(1e308, -1e308, 5e-324, math.inf, -math.inf, math.nan, 10**30, 10**400, -(10**400), 2**63, "1e999", "NaN"),
    *("dev", "test", "train", "majority", "two\nlines", "right\u202eleft", "\x1b[2J", "\ud800"),
    *([[[]]], {"dev": 1}, [None]),
)
"""Values of all types, among them infinite and huge numbers, and names of splits and roles."""


def forged_folder(folder: Path) -> SharedFolder:
    """Share a study of two backbones on two tasks, with two learning rates, limited rows and a diverged fit."""
    from benchrunner.engine import Outcome

    tasks = [mood(method="chancy"), mood(name="mine/second", method="chancy")]
    made = runner(folder, register_methods=[Chancy({1: Outcome("diverged", "nan")})], register_tasks=tasks)
    other = folder / "saved" / "other"
    other.mkdir(parents=True)
    TinyBackbone().load(made.workspace, seed=0).save(other)
    study = compared(
        ("words", str(other)), tuple(tasks), Fitting(Grid({"lr": (4, 8)}), seeds=(0, 1, 2), changes={"limit_train": 30})
    )
    out = folder / "shared"
    share_study(run_study(study, made), out, made, name="moods", report=False, url="https://example.org/moods")
    return SharedFolder(out, made)


def written(value: Any, name: str) -> bytes:
    """Write a file as `share` does."""
    if name.endswith(".jsonl") and isinstance(value, list):
        return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in value).encode(errors="surrogatepass")
    if isinstance(value, str):
        return value.encode(errors="surrogatepass")
    indent = 2 if name.startswith("every_eval_ever") else 1
    return (json.dumps(value, indent=indent, ensure_ascii=False) + "\n").encode(errors="surrogatepass")


def sealed(files: Files) -> dict[str, bytes]:
    """Return the contents of all files, with a new list of files."""
    contents = {name: written(value, name) for name, value in files.items() if name != "manifest.json"}
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in sorted(contents.items())}
    contents["manifest.json"] = written({"format": FORMAT, "files": digests}, "manifest.json")
    return contents


def _leaf(draw: random.Random, value: Any) -> tuple[Any, Any]:
    """Draw a place in a JSON value: what holds it, and its key."""
    while True:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        key = draw.choice(keys)
        inner = value[key]
        if not isinstance(inner, dict | list) or not inner or draw.random() < 0.15:
            return value, key
        value = inner


def change_value(draw: random.Random, files: Files) -> None:
    """Give a place of a JSON file another value: a near one, one of another place, or any."""
    holder, key = _leaf(draw, files[_drawn_json(draw, files)])
    value = holder[key]
    if type(value) in (int, float) and draw.random() < 0.6:
        holder[key] = draw.choice([value + 1, value * 1.01, value + 0.1, -value, 0.987, value + 1e-7, float(value)])
    elif draw.random() < 0.5:
        other, place = _leaf(draw, files[_drawn_json(draw, files)])
        holder[key] = copy.deepcopy(other[place])
    else:
        holder[key] = copy.deepcopy(draw.choice(VALUES))


def change_list(draw: random.Random, files: Files) -> None:
    """Repeat, move, remove or alter an entry of a list or an object."""
    holder, key = _leaf(draw, files[_drawn_json(draw, files)])
    if isinstance(holder, dict):
        kind = draw.choice(["remove", "add", "last"])
        if kind == "remove":
            del holder[key]
        elif kind == "add":
            holder[draw.choice(["note", "verified", "mean", "accuracy", f"{key} "])] = draw.choice(VALUES)
        else:
            holder[key] = holder.pop(key)
        return
    place = draw.randrange(len(holder))
    kind = draw.choice(["repeat", "remove", "swap", "reverse"])
    if kind == "repeat":
        holder.insert(place, copy.deepcopy(holder[draw.randrange(len(holder))]))
    elif kind == "remove":
        del holder[place]
    elif kind == "swap":
        other = draw.randrange(len(holder))
        holder[place], holder[other] = holder[other], holder[place]
    else:
        holder.reverse()


def change_cells(draw: random.Random, files: Files) -> None:
    """Edit what the tables show: scores, cells, candidates, restarts, flags and warnings."""
    cells = files["study.json"]["result"]["cells"]
    cell = draw.choice(cells)
    lists = [cells, cell["scores"], cell["candidates"], cell["warnings"], draw.choice(cell["candidates"])["fits"]]
    lists += [score["restarts"] for score in cell["scores"]]
    chosen = draw.choice([entry for entry in lists if entry])
    kind = draw.choice(["repeat", "forge", "remove", "swap", "figure", "select", "flags"])
    if kind == "repeat":
        chosen.insert(draw.randrange(len(chosen) + 1), copy.deepcopy(draw.choice(chosen)))
    elif kind == "forge":
        cell["scores"].insert(draw.choice([0, len(cell["scores"])]), draw.choice(cell["scores"]) | {"mean": 0.987})
    elif kind == "remove":
        chosen.remove(draw.choice(chosen))
    elif kind == "swap":
        chosen.reverse()
    elif kind == "figure":
        score = draw.choice(cell["scores"])
        score[draw.choice(["mean", "best", "deviation", "majority"])] = draw.choice([0.987, 0.1, 1.0, None])
    elif kind == "select":
        point = draw.choice(cell["candidates"])
        cell["selected"], cell["chosen"] = draw.choice(point["fits"]), point["recipe"]
    else:
        cell["warnings"], cell["flags"] = [], {}


def rename(draw: random.Random, files: Files) -> None:
    """Give a text of the study another text everywhere, for example a name."""
    holder, key = _leaf(draw, files["study.json"])
    old = holder[key] if isinstance(holder[key], str) else str(key)
    new = draw.choice(
        ["98.70", "other", f"{old}x", "two\nlines", "a | 98.70 |", "`x`", "https://example.org/x", "\x1b[2J"]
    )
    text = json.dumps(files["study.json"], ensure_ascii=False)
    files["study.json"] = json.loads(text.replace(json.dumps(old), json.dumps(new)))


def change_answers(draw: random.Random, files: Files) -> None:
    """Edit the lines of a file of answers."""
    lines = files[draw.choice([name for name in files if name.endswith(".jsonl")])]
    kind = draw.choice(["answer", "answers", "types", "swap", "remove", "repeat", "other", "constant"])
    place = draw.randrange(len(lines))
    if kind == "answer":
        lines[place]["answer"] = draw.choice(["glad", "sad", "angry", *VALUES])
    elif kind == "types":
        change: Callable[[Any], Any] = draw.choice(
            [str, lambda answer: [answer], repr, lambda answer: {"a": answer}, len]
        )
        with contextlib.suppress(TypeError):
            for line in lines:
                line["answer"] = change(line["answer"])
    elif kind == "answers":
        for line in draw.sample(lines, draw.randrange(1, len(lines))):
            line["answer"] = draw.choice(["glad", "sad"])
    elif kind == "swap":
        lines[place], lines[-1] = lines[-1], lines[place]
    elif kind == "remove":
        del lines[place]
    elif kind == "repeat":
        lines.insert(place, dict(lines[place]))
    elif kind == "constant":
        for line in lines:
            line["answer"] = "glad"
    else:
        name = draw.choice([name for name in files if name.endswith(".jsonl")])
        lines[:] = copy.deepcopy(files[name])


def change_files(draw: random.Random, files: Files) -> None:
    """Add, copy, remove or exchange whole files."""
    names = [name for name in files if name != "study.json"]
    name = draw.choice(names)
    kind = draw.choice(["add", "copy", "remove", "exchange"])
    if kind == "add":
        new = draw.choice(["notes.txt", "RESULTS.md", "fits/0123456789abcdef.json", "hub/words/extra.yaml", "a/b"])
        files[new] = "accuracy 98.70\n"
    elif kind == "copy":
        files[name.replace(Path(name).name[:4], "0bad")] = copy.deepcopy(files[name])
    elif kind == "remove":
        del files[name]
    else:
        other = draw.choice(names)
        files[name], files[other] = files[other], files[name]


def change_text(draw: random.Random, files: Files) -> None:
    """Edit a number or a line of a text that follows from the study, after everything was derived."""
    name = draw.choice([name for name in files if isinstance(files[name], str)])
    lines = files[name].splitlines(keepends=True)
    place = draw.randrange(len(lines))
    kind = draw.choice(["digit", "remove", "repeat", "add"])
    digits = [at for at, character in enumerate(lines[place]) if character.isdigit()]
    if kind == "digit" and digits:
        at = draw.choice(digits)
        lines[place] = lines[place][:at] + draw.choice("0123456789") + lines[place][at + 1 :]
    elif kind == "remove":
        del lines[place]
    elif kind == "repeat":
        lines.insert(place, lines[place])
    else:
        lines.insert(place, "All figures were verified.\n")
    files[name] = "".join(lines)


def change_splits(draw: random.Random, files: Files) -> None:
    """Give splits other roles, let another split select, or answer another split."""
    study = files["study.json"]
    cell = draw.choice(study["result"]["cells"])
    split = draw.choice(["dev", "test", "train", "late", "", None])
    kind = draw.choice(["select", "role", "tests", "score", "prediction", "metric", "rename"])
    if kind == "select":
        cell["selection"]["split"] = split
    elif kind == "metric":
        cell["selection"]["metric"] = draw.choice(["accuracy", "matthews", "pearson", None])
    elif kind == "role":
        draw.choice(list(study["tasks"][cell["task"]]["splits"].values()))["role"] = split
    elif kind == "tests":
        cell["tests"] = [split]
    elif kind == "score":
        draw.choice(cell["scores"])["split"] = split
    elif kind == "prediction":
        name = draw.choice([name for name in files if name.startswith("predictions") and name.endswith(".json")])
        files[name]["prediction"]["split"] = split
    else:
        text = json.dumps(study)
        files["study.json"] = json.loads(text.replace('"dev"', json.dumps(split or "test")))


def change_claims(draw: random.Random, files: Files) -> None:
    """Give what nobody can compute another value: dates, names, seconds, devices, versions, settings."""
    study = files["study.json"]
    fit = files[draw.choice([name for name in files if name.startswith("fits/")])]
    places = [study, study["suppliers"], study["revisions"], fit["timings"], fit["numerics"], fit["fit"]["suppliers"]]
    places += [cell["fitting"] for cell in study["result"]["cells"]]
    places += [cell["fitting"]["changes"] for cell in study["result"]["cells"]]
    place = draw.choice(places)
    texts = ["9999-12-31T23:59:59+00:00", "0001-01-01T00:00:00+14:00", "a" * 200, "https://example.org/x"]
    key = draw.choice([*place, "seconds"])
    if isinstance(place.get(key), dict | list) and draw.random() < 0.8:
        key = draw.choice(["answered", "name", "url", "benchrunner"])
    place[key] = draw.choice([*VALUES, *texts])


def declare_lost(draw: random.Random, files: Files) -> None:
    """Call a fit diverged or take its name from that list; its answers stay, or go."""
    cell = draw.choice(files["study.json"]["result"]["cells"])
    fit = draw.choice(draw.choice(cell["candidates"])["fits"])
    if fit in cell["lost"]:
        del cell["lost"][fit]
        return
    cell["lost"][fit] = ["diverged", "the loss is nan"]
    if draw.random() < 0.5:
        prediction = files["study.json"]["predictions"].get(fit, {}).pop(cell["task"], {}).get("dev")
        files.pop(f"predictions/{prediction}.json", None)
        files.pop(f"predictions/{prediction}.answers.jsonl", None)


EDITS: tuple[Callable[[random.Random, Files], None], ...] = (
    *(change_value, change_list, change_cells, change_cells, rename, change_answers, change_files, declare_lost),
    *(change_splits, change_claims),
)


def _drawn_json(draw: random.Random, files: Files) -> str:
    names = [name for name, value in files.items() if isinstance(value, dict) and value and name != "manifest.json"]
    return "study.json" if draw.random() < 0.5 else draw.choice(names)


def forged(base: Files, seed: int, truth: Callable[[Files], Files] = lambda files: files) -> Files:
    """Return the files of a folder with some edits. `truth` gives what an honest sender would have shared."""
    draw = random.Random(seed)
    files = copy.deepcopy(base)
    for _ in range(draw.choice([1, 1, 1, 2, 3])):
        try:
            draw.choice(EDITS)(draw, files)
            if draw.random() < 0.3:  # an honest study with these answers and this plan, perhaps edited further
                files |= truth(files)
        except UNSOUND:
            continue
    with contextlib.suppress(Exception):  # a study that is none; the files that follow from it stay as they are
        for name, text in derived_files(files["study.json"]):
            files[name] = json.loads(text) if name.endswith(".json") else text
    if draw.random() < 0.15:
        change_text(draw, files)
    return files


class Forger:
    """Edits a shared folder again and again, each time from its beginning."""

    def __init__(self, original: SharedFolder, folder: Path) -> None:
        self.judge = Judge(original)
        self.received = original.copy(folder)
        self.before = {name: written(value, name) for name, value in self.judge.base.items()}
        runs = folder.with_name("runs of the verifier")
        workspace = dataclasses.replace(original.runner.workspace, runs=runs)
        self._runners = OwnRunners(original.runner.plugins, workspace)
        self.accepted = 0
        self.refused = 0
        self.honest_refused = 0

    def forge(self, seed: int) -> Files:
        """Return the files of a forged folder."""
        return forged(self.judge.base, seed, self.judge.truth)

    def is_accepted(self, files: Files) -> bool:
        """Write the files with a new list of files, and return whether they are verified."""
        contents = sealed(files)
        for name in self.before.keys() - contents.keys():
            (self.received.path / name).unlink()
        changed = [name for name, content in contents.items() if self.before.get(name) != content]
        for name in changed:
            (self.received.path / name).parent.mkdir(parents=True, exist_ok=True)
            (self.received.path / name).write_bytes(contents[name])
        try:
            return self._is_equal()
        finally:
            for name in {*changed, *self.before} - {name for name in contents if name not in changed}:
                path = self.received.path / name
                if name in self.before:
                    path.write_bytes(self.before[name])
                else:
                    path.unlink()

    def _is_equal(self) -> bool:
        try:
            return verified_study(self.received.path, self._runners).verification.is_equal
        except BenchrunnerError:
            return False

    def try_bytes(self, seed: int) -> str:
        """Change, add or remove some bytes of a file; return a sentence if that is accepted."""
        draw = random.Random(seed)
        path = self.received.path / draw.choice(sorted(sealed(self.judge.base)))
        before = path.read_bytes()
        place = draw.randrange(len(before))
        count = draw.choice([0, 1, 1, 2, 20])
        others = [bytes([draw.randrange(256)]), b"", before[place : place + 2] * 2, b" ", b"\n", b"0", b"9"]
        after = before[:place] + draw.choice(others) + before[place + count :]
        if after == before:
            after = before + b"\n"
        try:
            path.write_bytes(after)
            return f"seed {seed}: bytes of {path.name} are changed" if self._is_equal() else ""
        finally:
            path.write_bytes(before)

    def try_edit(self, seed: int) -> str:
        """Forge a folder; return a sentence if a lie is accepted, or if an honest study is refused."""
        files = self.forge(seed)
        is_honest = self.judge.is_honest(files)
        is_accepted = self.is_accepted(files)
        self.accepted += is_accepted
        self.refused += not is_accepted
        self.honest_refused += is_honest and not is_accepted
        if is_accepted and not is_honest:
            return f"seed {seed}: a lie is accepted"
        return ""


def main(count: int, start: int = 0) -> int:
    """Try some edits, half of them of bytes, and print how many were accepted; exit code 1 if a lie was."""
    began = time.monotonic()
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        forger = Forger(forged_folder(Path(folder) / "made"), Path(folder) / "received")
        for seed in range(start, start + count):
            if fault := forger.try_bytes(seed) if seed % 2 else forger.try_edit(seed):
                faults.append(fault)
                print(fault)
            if seed % 500 == 499:
                print(f"{seed + 1 - start:,} edits, {len(faults)} faults", flush=True)
    seconds = time.monotonic() - began
    print(
        f"{count:,} edits in {seconds:,.0f} s, half of them of bytes; of the others {forger.refused:,} were refused, "
        f"{forger.honest_refused:,} of these without a lie, and {forger.accepted:,} accepted; {len(faults):,} faults"
    )
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
