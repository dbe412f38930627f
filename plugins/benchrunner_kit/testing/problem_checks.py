"""Check that a problem keeps its contract: rows, sequences, loss, answers, files of answers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchrunner import DataError, PluginError, Recipe, RequestError, Rows, guarded
from benchrunner_kit.testing.contract import Faults, check_borders, check_count, found, lost_in_json, refuse
from benchrunner_kit.testing.loss_checks import check_loss
from benchrunner_kit.testing.samples import Sample, unlabelled

if TYPE_CHECKING:
    from benchrunner.engine import Features, Problem

FEWEST = 4
"""Rows that a check needs to see whether rows depend on one another."""


def check_problem(problem: Problem, columns: Mapping[str, Sequence[object]], *, recipe: Recipe | None = None) -> None:
    """Check that a problem keeps its contract on labelled rows; raise a `PluginError` that lists every fault.

    `columns` has the columns of four or more rows, with several labels among them. These are compared: each row alone
    with all rows together, in its tokens and in its answer; the loss of a batch with the losses of its units; the
    answers to outputs that minimise the loss with the right answers; answers with what is read again from JSON and from
    a prediction file; rows with labels and rows without them.
    """
    import pyarrow as pa

    lists = {name: list(values) for name, values in columns.items()}
    rows = Rows(pa.table(lists), "sample rows")
    if len(rows) < FEWEST:
        raise PluginError(f"check_problem needs {FEWEST} rows or more, not {len(rows)}.")
    name = f"the problem '{problem.name}'"
    with guarded(f"check of {name}"):
        table = problem.check(rows, labelled=True)
    sample = Sample(problem, table, recipe or Recipe())
    refuse(name, found("checking the rows", _check_rows(sample, rows)) or examine(sample))


def _check_rows(sample: Sample, rows: Rows) -> Faults:
    """Check what `gold` gives for checked rows, and what `check` does with the same rows without labels."""
    problem = sample.problem
    check_count("gold", sample.gold, len(rows), "labelled rows")
    bare = Rows(unlabelled(problem, rows.table), rows.origin)
    problem.check(bare, labelled=False)
    with contextlib.suppress(DataError), guarded("check of rows without labels, which must raise a DataError,"):
        problem.check(bare, labelled=True)
        yield "check takes rows without labels as labelled: raise a DataError if `labelled` is True"


def examine(sample: Sample) -> Faults:
    """Check everything behind `check`, on checked rows with labels."""
    problem = sample.problem
    if "context" in problem.recipe_fields:  # with neighbouring rows as context, rows may depend on one another
        sample = replace(sample, recipe=sample.recipe.changed(context="sentence"))
    yield from found("describing the identity", _check_identity(problem))
    action = "encoding the rows"
    faults = found(action, check_features(sample)) or found(action, _compare_encodings(sample))
    yield from faults
    if faults or not problem.head.width:
        return
    action = "decoding outputs"
    faults = found(action, check_decoding(sample, sample.raw)) or found(action, _check_answers(sample))
    yield from faults
    yield from found("writing and reading answers", check_spelling(problem, sample.gold))
    if not faults:
        yield from found("computing the loss", check_loss(sample))


def _check_identity(problem: Any) -> Faults:
    """Check that the identity is JSON, the same in each call, and another one for other values of the fields."""
    identity = problem.identity()
    yield from lost_in_json("identity", identity)
    if problem.identity() != identity:
        yield "identity differs from call to call: describe only what decides what is learned"
    names = [field.name for field in fields(problem)] if is_dataclass(problem) else []
    for name in names:
        other = None if name in problem.decoding_fields else _with_another_value(problem, name)
        if other is not None and other.identity() == identity:
            yield (
                f"the field '{name}' makes no difference to the identity, so that a fit with another value would be "
                "read instead of run: name it in `decoding_fields` if training never sees it"
            )


def _with_another_value(problem: Any, field: str) -> Problem | None:
    """Return a problem with another value of a field; None if the field cannot have the values that are tried."""
    for value in other_values(getattr(problem, field)):
        with contextlib.suppress(Exception):  # the field cannot have this value
            other: Problem = replace(problem, **{field: value})
            return other
    return None


def other_values(value: object) -> Iterator[Any]:
    """Yield values of the same type that a field or a parameter may have instead."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        yield from (value + 1, value / 2, value - 1, (value + 1) / 2)
    elif isinstance(value, str | Path):
        yield from (f"{value}x", "other")
    elif isinstance(value, tuple):
        yield from (value[::-1], (*value, *other_values(value[-1] if value else "")), value[1:])
    elif value is None:
        yield from (1, "other")


def check_features(sample: Sample) -> Faults:
    """Check that the arrays of features fit together."""
    features = sample.features
    tokens = len(features.tokens)
    check_borders("`starts` that encode gives", features.starts, len(features.owner), tokens)
    check_borders("`groups` that encode gives", features.groups, features.units, len(features.owner))
    check_count("`segments` of encode", features.segments, tokens, "tokens")
    for name, values in features.targets.items():
        check_count(f"target '{name}' of encode", values, features.units, "units")
    for name, values in features.token_targets.items():
        check_count(f"token target '{name}' of encode", values, tokens, "tokens")
    every = np.arange(len(sample.table))
    if not np.array_equal(np.unique(features.owner), every):
        yield "encode gives `owner` that does not name every row: each row needs a sequence"


def _compare_encodings(sample: Sample) -> Faults:
    """Compare the tokens of all rows with those of a second call, of rows without labels, and of each row alone."""
    features = sample.features
    if sample.problem.gold(sample.without_labels.table) is not None:
        yield "gold gives labels for rows without labels: give None"
    for again, what in sample.repeated:
        with guarded(f"encode {what}"):
            tokens = again.features.tokens
        if not np.array_equal(tokens, features.tokens):
            yield f"encode gives other tokens {what}: let tokens depend on the texts and the recipe only"
    for row, alone in enumerate(sample.rows):
        among = features.tokens[_of_row(features, row, "token")]
        if not np.array_equal(alone.features.tokens, among):
            yield f"row {row} is encoded alone to other tokens than among all rows: let no row read another row"
            return


def _of_row(features: Features, row: int, level: str) -> np.ndarray:
    """Return a mask of a row's sequences, or of their tokens."""
    owned = np.asarray(features.owner) == row
    return np.repeat(owned, features.lengths) if level == "token" else owned


def check_decoding(sample: Sample, raw: np.ndarray) -> Faults:
    """Check that raw outputs become one answer for each row that JSON can hold."""
    expected = sample.problem.output_count(sample.table)
    check_count("gather", raw, expected, "raw outputs of `output_count`")
    alone = sum(sample.problem.output_count(row.table) for row in sample.rows)
    if alone != expected:
        raise PluginError(
            f"output_count says {expected} for all rows, and {alone} row by row: let it be a sum over rows"
        )
    before = np.array(raw, copy=True)
    answers = sample.answers(raw)
    check_count("decode", answers, len(sample.table), "rows")
    if not np.array_equal(before, raw, equal_nan=True):
        raise PluginError("decode changes the outputs that it is given: work on a copy")
    for again, what in sample.repeated:
        with guarded(f"decode {what}"):
            repeated = again.answers(raw)
        if repeated != answers:
            yield f"decode gives other answers {what}: let answers depend on outputs and texts only"
    yield from lost_in_json("an answer", answers)


def _check_answers(sample: Sample) -> Faults:
    """Check the answer to each row alone, the extra figures, the constant outputs, and averages."""
    problem, table, raw = sample.problem, sample.table, sample.raw
    answers = sample.answers(raw)
    for row, alone in enumerate(sample.rows):
        own = sample.outputs[_of_row(sample.features, row, problem.head.level)]
        [single] = alone.answers(alone.gathered(own))
        if single != answers[row]:
            yield (
                f"row {row} alone is answered by {single!r}, among all rows by {answers[row]!r}: let `gather` and "
                "`decode` answer each row from its own outputs, whatever the order of the rows"
            )
            break
    for name, values in problem.extra_figures(raw, table, problem.decoding).items():
        check_count(f"the extra figure '{name}'", values, len(table), "rows")
        yield from lost_in_json(f"the extra figure '{name}'", values)
    constant = {"majority_output": problem.majority_output(table), "fallback_output": problem.fallback_output()}
    for name, output in constant.items():
        if output is None:
            continue
        if np.shape(output) != raw.shape[1:]:
            yield f"{name} has the shape {np.shape(output)}: give that of one raw output, {raw.shape[1:]}"
        else:
            yield from check_decoding(sample, repeated(output, sample))
    with contextlib.suppress(RequestError):  # answers of some problems cannot be averaged
        if sample.answers(problem.average([raw, raw])) != answers:
            yield "the average of two equal outputs gives other answers: let `average` keep what all fits agree on"
        other = sample.gathered(sample.outputs[::-1])
        forward, backward = problem.average([raw, other]), problem.average([other, raw])
        if sample.answers(forward) != sample.answers(backward):
            yield "average gives other answers for the same fits in another order: treat all fits alike"


def repeated(output: np.ndarray, sample: Sample) -> np.ndarray:
    """Return raw outputs that are all the same one."""
    count = sample.problem.output_count(sample.table)
    return np.repeat(np.asarray(output)[None], count, axis=0)


def check_spelling(problem: Problem, gold: Sequence[Any]) -> Faults:
    """Check that right answers survive a prediction file, and that a strange line is refused with a `ValueError`."""
    for label in gold:
        text = problem.spell(problem.best_answer(label))
        if not isinstance(text, str) or "\n" in text or "\r" in text:
            raise PluginError(f"spell writes {text!r}, which is no single line of text: write an answer as one line")
        answer = problem.parse(text)
        if problem.spell(answer) != text:
            yield f"an answer is another one after it was written to a prediction file: {text!r} is read as {answer!r}"
            break
    with guarded("parse of a strange line, which must raise a ValueError,"), contextlib.suppress(ValueError):
        problem.parse("\x00 no answer \x00")
