"""A judge of shared folders, which computes the figures itself: does a folder say what its plan and answers say?"""

from __future__ import annotations

import copy
import json
import math
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from shared_folders import SharedFolder

from benchrunner.parameters.recipes import SPECIAL
from benchrunner_share.documents.derived_files import derived_files

CLAIMS = ("name", "answered", "benchrunner", "url", "left_out_bad_rows")
"""Keys of the study that nobody can compute."""
PLAN = ("system", "backbone", "task", "method", "fitting", "selection", "tests", "candidates", "lost")
"""Keys of a cell that say what was compared."""
Files = dict[str, Any]
"""Name of a file -> its JSON value, its lines if they are answers, or its text."""


class NoStudy(Exception):
    """No study looks like this: a folder with it must not be accepted."""


UNSOUND = (
    *(NoStudy, KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, RecursionError),
    statistics.StatisticsError,
)
"""Errors of the judge's arithmetic on values that no study has."""


class Judge:
    """Computes what a folder must say from its plan and its answers, with a dozen lines of arithmetic of its own."""

    def __init__(self, original: SharedFolder) -> None:
        self.base = read(original.path)
        data = original.runner.workspace.data
        assert data is not None
        lines = (data / "mood" / "dev.tsv").read_text().splitlines()[1:]
        self.gold = [line.split("\t")[1] for line in lines]
        [claimed] = {cell["scores"][0]["majority"] for cell in self.base["study.json"]["result"]["cells"]}
        constant = [[{"index": row, "answer": label} for row in range(len(lines))] for label in ("glad", "sad")]
        [self.majority] = [scores for scores in map(self.scores, constant) if scores["accuracy"] == claimed]

    def scores(self, answers: list[dict[str, Any]]) -> dict[str, float]:
        """Return accuracy and Matthews' correlation of two classes."""
        if [line["index"] for line in answers] != list(range(len(self.gold))):
            raise NoStudy("other rows")
        given = [line["answer"] for line in answers]
        if not set(given) <= {"glad", "sad"}:
            raise NoStudy("other labels")
        pairs = list(zip(self.gold, given, strict=True))
        tp, tn = pairs.count(("glad", "glad")), pairs.count(("sad", "sad"))
        fp, fn = pairs.count(("sad", "glad")), pairs.count(("glad", "sad"))
        below = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
        matthews = (tp * tn - fp * fn) / math.sqrt(below) if below else 0.0
        return {"accuracy": (tp + tn) / len(pairs), "matthews": matthews}

    def truth(self, files: Files) -> Files:
        """Return what an honest sender with this plan, these claims and these answers would have shared."""
        study, base = files["study.json"], self.base["study.json"]
        honest: Files = {}
        records: dict[str, dict[str, Any]] = {}
        cells = []
        index: dict[str, Any] = {}
        revisions = {}
        for of_file in study["result"]["cells"]:
            cell = {name: copy.deepcopy(of_file[name]) for name in PLAN}
            fits = [fit for point in cell["candidates"] for fit in point["fits"]]
            self._check_plan(cell, fits, cells)
            for fit in fits:
                revisions[cell["backbone"]] = self._fit(fit, cell, files, honest)
                if fit not in cell["lost"]:
                    self._prediction(fit, cell["task"], files, honest, records, index)
            cells.append(self._figures(cell, records))
        tasks = list(dict.fromkeys(cell["task"] for cell in cells))
        content = {name: study[name] if name in CLAIMS else base[name] for name in base}
        for name in ("suppliers", "tasks", "data"):
            content[name] = {task: base[name][task] for task in tasks}
        averages: dict[str, Any] = {cell["system"]: {} for cell in cells}
        content |= {"result": {"cells": cells, "averages": averages}, "revisions": revisions}
        content["predictions"] = index
        honest["study.json"] = content
        for name, text in derived_files(content):
            honest[name] = json.loads(text) if name.endswith(".json") else text
        for cell in cells:
            del cell["of"]
        return copy.deepcopy(honest)

    def _check_plan(self, cell: dict[str, Any], fits: list[str], before: list[dict[str, Any]]) -> None:
        base_cells = self.base["study.json"]["result"]["cells"]
        own = [known for known in base_cells if fits and fits[0] in json.dumps(known["candidates"])]
        own = [known for known in own if known["task"] == cell["task"]]
        if not own or (cell["method"], cell["tests"]) != ("chancy", []):
            raise NoStudy("no such cell")
        if cell["selection"]["split"] not in (None, "dev"):
            raise NoStudy("only dev selects")
        order = [fit for point in own[0]["candidates"] for fit in point["fits"]]
        if fits != [fit for fit in order if fit in fits] or len(set(fits)) < len(fits):
            raise NoStudy("fits twice or in another order")
        places = [base_cells.index(own[0]), *[base_cells.index(known["of"]) for known in before]]
        if len(set(places)) < len(places):
            raise NoStudy("a cell twice")
        cell["of"] = own[0]
        for point in cell["candidates"]:
            known = next(other for other in own[0]["candidates"] if point["fits"][0] in other["fits"])
            for name, value in cell["fitting"]["changes"].items():
                if known["recipe"].get(name, value) != value and name not in cell["fitting"]["grid"]:
                    raise NoStudy("fits that were made otherwise")
            if set(point) != {"recipe", "fits", "rows"} or not set(point["fits"]) <= set(known["fits"]):
                raise NoStudy("no such grid point")
            point["rows"] = known["rows"]
            point["recipe"] = {
                name: point["recipe"].get(name) if name in SPECIAL else value for name, value in known["recipe"].items()
            }

    def _fit(self, fit: str, cell: dict[str, Any], files: Files, honest: Files) -> str:
        name = f"fits/{fit}.json"
        values = self.base[name]["fit"]
        named = values | {"task": cell["task"], "backbone": cell["backbone"]}
        claims = {key: files[name][key] for key in ("timings", "numerics")}
        printable = (text.isprintable() for text in every_text([claims, files[name]["fit"]["suppliers"]]))
        seconds = claims["timings"].values()
        if not all(printable) or not all(type(value) in (int, float) and 0 <= value <= 1e9 for value in seconds):
            raise NoStudy("computed as nothing is")
        honest[name] = {"fit": named, **claims}
        return str(values["revision"])

    def _prediction(
        self,
        fit: str,
        task: str,
        files: Files,
        honest: Files,
        records: dict[str, dict[str, Any]],
        index: dict[str, Any],
    ) -> None:
        prediction = self.base["study.json"]["predictions"][fit][task]["dev"]
        index.setdefault(fit, {}).setdefault(task, {})["dev"] = prediction
        name = f"predictions/{prediction}.answers.jsonl"
        lines = files[name]
        scores = self.scores(lines)
        flags = []
        if len({line["answer"] for line in lines}) == 1:
            flags.append("constant predictions")
        if scores["accuracy"] <= self.majority["accuracy"]:
            flags.append("no better than majority")
        honest[name] = [{"index": line["index"], "answer": line["answer"]} for line in lines]
        plan = self.base[f"predictions/{prediction}.json"]["prediction"]
        honest[f"predictions/{prediction}.json"] = {"prediction": plan, "scores": rounded(scores), "flags": flags}
        records[fit, task] = {"scores": scores, "flags": flags}  # type: ignore[index]

    def _figures(self, cell: dict[str, Any], records: Any) -> dict[str, Any]:
        task, rule = cell["task"], cell["selection"]
        metric = rule["metric"] or "accuracy"
        points = []
        for point in cell["candidates"]:
            fits = [fit for fit in point["fits"] if fit not in cell["lost"]]
            if fits:
                dev = [records[fit, task]["scores"][metric] for fit in fits]
                points.append((max(dev) if rule["rule"] == "best" else statistics.fmean(dev), dev, fits, point))
        order = [fit for point in cell["candidates"] for fit in point["fits"] if fit in cell["lost"]]
        if set(cell["lost"]) != set(order) or not points:
            raise NoStudy("lost fits of another cell")
        cell["lost"] = {fit: cell["lost"][fit] for fit in order}
        _, dev, fits, point = max(points, key=lambda entry: entry[0])  # the first of equal ones
        selected = fits[dev.index(max(dev))]
        flagged: dict[str, int] = {}
        for fit in fits:
            for flag in records[fit, task]["flags"]:
                flagged[flag] = flagged.get(flag, 0) + 1
        scores = []
        for name in ("accuracy", "matthews"):
            values = [records[fit, task]["scores"][name] for fit in fits]
            score = {"split": "dev", "metric": name, "best": records[selected, task]["scores"][name]}
            score["mean"] = statistics.fmean(values)
            score["deviation"] = statistics.stdev(values) if len(values) > 1 else None
            score |= {"restarts": values, "majority": self.majority[name]}
            scores.append(rounded(score))
        words = [flag if count == len(fits) else f"{flag} in some restarts" for flag, count in flagged.items()]
        words += ["some fits have no scores"] if cell["lost"] else []
        words.append("limited to 30 random training rows")
        asked = len(cell["fitting"]["seeds"])
        for values in cell["fitting"].get("grid", {}).values():
            asked *= len(values)
        count = sum(len(other["fits"]) for other in cell["candidates"])
        words += [f"{count} of the {asked} fits of the study"] if count < asked else []
        chosen = {"selected": selected, "chosen": point["recipe"], "scores": scores}
        return {**cell, **chosen, "flags": dict(sorted(flagged.items())), "warnings": words}

    def is_honest(self, files: Files) -> bool:
        """Return whether every file says what follows from plan, claims and answers."""
        try:
            honest = self.truth(files)
        except UNSOUND:
            return False
        return same(honest, {name: value for name, value in files.items() if name != "manifest.json"})


def every_text(value: Any) -> Iterator[str]:
    """Yield every text of a JSON value, keys included."""
    if isinstance(value, str):
        yield value
    for inner in value.items() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ():
        yield from every_text(inner)


def rounded(value: Any) -> Any:
    """Round all figures of a JSON value as shared folders do."""
    if isinstance(value, dict):
        return {name: rounded(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return list(map(rounded, value))
    return round(value, 10) if isinstance(value, float) else value


def same(one: Any, other: Any) -> bool:
    """Compare JSON values with their types."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def read(folder: Path) -> Files:
    """Read all files of a folder."""
    files: Files = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            name, text = path.relative_to(folder).as_posix(), path.read_text(encoding="utf-8")
            files[name] = text
            if name.endswith(".jsonl"):
                files[name] = [json.loads(line) for line in text.splitlines()]
            elif name.endswith(".json"):
                files[name] = json.loads(text)
    return files
