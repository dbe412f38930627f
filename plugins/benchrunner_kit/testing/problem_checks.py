"""Check that a problem keeps its contract: rows, sequences, loss, answers, files of answers."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from benchrunner import DataError, PluginError, Recipe, RequestError, Rows
from benchrunner_kit.testing.contract import Findings, described
from benchrunner_kit.testing.loss_checks import check_loss, sample_outputs
from benchrunner_kit.testing.tiny_encoder import TinyEncoder

if TYPE_CHECKING:
    import pyarrow as pa

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

    rows = Rows(pa.table({name: list(values) for name, values in columns.items()}), "sample rows")
    if len(rows) < FEWEST:
        raise PluginError(f"check_problem needs {FEWEST} rows or more, not {len(rows)}.")
    findings = Findings(f"the problem '{getattr(problem, 'name', type(problem).__name__)}'")
    table = None
    with findings.step("to check the rows"):
        table = problem.check(rows, labelled=True)
        _check_rows(problem, rows, table, findings)
    if table is not None:
        examine(problem, table, recipe or Recipe(), findings)
    findings.refuse()


def _check_rows(problem: Problem, rows: Rows, table: pa.Table, findings: Findings) -> None:
    """Check what `gold` gives for checked rows, and what `check` does with the same rows without labels."""
    gold = problem.gold(table)
    if gold is None or len(gold) != len(rows):
        count = "none" if gold is None else str(len(gold))
        findings.add(f"gold gives {count} for {len(rows)} labelled rows: give one right answer for each row")
    bare = Rows(unlabelled(problem, rows.table), rows.origin)
    if problem.gold(problem.check(bare, labelled=False)) is not None:
        findings.add("gold gives labels for rows without labels: give None")
    names = ", ".join(problem.label_columns)
    try:
        problem.check(bare, labelled=True)
        findings.add(f"check takes rows without labels ({names}) as labelled: raise a DataError if `labelled` is True")
    except DataError:
        pass
    except Exception as error:
        findings.add(
            f"check raises {described(error)} for labelled rows without labels ({names}): raise a DataError that names "
            "what is missing, so that users read a sentence"
        )


def unlabelled(problem: Problem, table: pa.Table) -> pa.Table:
    """Return the rows without their label columns."""
    return table.drop_columns([name for name in problem.label_columns if name in table.column_names])


def examine(problem: Problem, table: pa.Table, recipe: Recipe, findings: Findings) -> None:
    """Check everything behind `check`, on checked rows with labels."""
    if "context" in problem.recipe_fields:  # with neighbouring rows as context, rows may depend on one another
        recipe = recipe.changed(context="sentence")
    with findings.step("to describe the identity"):
        _check_identity(problem, findings)
    features = None
    with findings.step("to encode the rows"):
        features = problem.encode(table, TinyEncoder(), recipe, training=False)
        check_features(problem, features, table, findings)
        if findings.faults:
            return
        _compare_encodings(problem, features, table, recipe, findings)
    if features is None or not problem.head.width:
        return
    outputs = sample_outputs(problem, features)
    with findings.step("to decode outputs"):
        raw = problem.gather(outputs.copy(), features, table)
        if check_decoding(problem, raw, table, findings):
            _decode_alone(problem, features, outputs, raw, table, recipe, findings)
            _check_figures(problem, raw, table, findings)
            _check_majority(problem, raw, table, findings)
            _check_averages(problem, features, outputs, raw, table, findings)
    with findings.step("to write and read answers"):
        check_spelling(problem, problem.gold(table) or [], findings)
    check_loss(problem, table, recipe, findings)


def answers_of(problem: Problem, raw: np.ndarray, table: pa.Table) -> list[Any]:
    """Decode raw outputs with the problem's own settings."""
    return problem.decode(raw, table, problem.decoding)


def _check_identity(problem: Problem, findings: Findings) -> None:
    identity = problem.identity()
    try:
        if json.loads(json.dumps(identity)) != identity:
            findings.add(
                "identity is different after it was written as JSON and read again: use texts, numbers and lists"
            )
    except TypeError as error:
        findings.add(f"identity cannot be written as JSON ({error}): use texts, numbers and lists")
    if problem.identity() != identity:
        findings.add("identity differs from call to call: describe only what decides what is learned")
    if is_dataclass(problem):
        _check_fields(problem, identity, findings)


def _check_fields(problem: Any, identity: Mapping[str, Any], findings: Findings) -> None:
    """Check that a problem with another value of one field has another identity."""
    for field in fields(problem):
        if field.name in problem.decoding_fields or not field.init:
            continue
        for value in _other_values(getattr(problem, field.name)):
            try:
                other = replace(problem, **{field.name: value})
            except Exception:  # the field cannot have this value
                continue
            if other.identity() == identity:
                findings.add(
                    f"the field '{field.name}' makes no difference to the identity, so that a fit with another value "
                    "would be read instead of run: leave `identity` as it is in `Problem`, or name a field that "
                    "training never sees in `decoding_fields`"
                )
            break


def _other_values(value: object) -> Iterator[object]:
    """Yield values of the same type that a field may have instead."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        yield from (value + 1, value / 2, value - 1)
    elif isinstance(value, str):
        yield from (f"{value}x", "other")
    elif isinstance(value, tuple):
        yield from (value[::-1], (*value, *_other_values(value[-1] if value else "")), value[1:])
    elif value is None:
        yield from (1, "other")


def check_features(problem: Problem, features: Features, table: pa.Table, findings: Findings) -> None:
    """Check that the arrays of features fit together."""
    tokens = len(features.tokens)
    sequences = len(features.owner)
    if len(features.segments) != tokens:
        findings.add(f"encode gives {len(features.segments)} segments for {tokens} tokens: give each token its segment")
    for name, end in (("starts", tokens), ("groups", sequences)):
        borders = np.asarray(getattr(features, name))
        if borders[0] != 0 or borders[-1] != end or (np.diff(borders) < 1).any():
            findings.add(f"encode gives wrong `{name}`: they must rise from 0 to {end}")
    if len(features.starts) != sequences + 1:
        findings.add(f"encode gives {sequences} owners for {len(features.starts) - 1} sequences: name the row of each")
    elif sorted({*np.asarray(features.owner).tolist()}) != list(range(table.num_rows)):
        findings.add("encode gives `owner` that does not name every row: each row needs a sequence")
    for name, values in features.targets.items():
        if len(values) != features.units:
            counts = f"{len(values)} targets '{name}' for {features.units} units"
            findings.add(f"encode gives {counts}: give one for each unit")
    for name, values in features.token_targets.items():
        if len(values) != tokens:
            findings.add(
                f"encode gives {len(values)} token_targets '{name}' for {tokens} tokens: give one for each token"
            )


def _compare_encodings(
    problem: Problem, features: Features, table: pa.Table, recipe: Recipe, findings: Findings
) -> None:
    """Compare the tokens of all rows with those of a second call, of rows without labels, and of each row alone."""
    bare = unlabelled(problem, table)
    for rows, what in ((table, "in a second call"), (bare, "for the same rows without labels")):
        tokens = problem.encode(rows, TinyEncoder(), recipe, training=False).tokens
        if not np.array_equal(tokens, features.tokens):
            findings.add(f"encode gives other tokens {what}: let tokens depend on the texts and the recipe only")
    for row in range(table.num_rows):
        alone = problem.encode(table.slice(row, 1), TinyEncoder(), recipe, training=False)
        if not np.array_equal(alone.tokens, features.tokens[_tokens_of(features, row)]):
            findings.add(f"row {row} is encoded alone to other tokens than among all rows: let no row read another row")
            return


def _tokens_of(features: Features, row: int) -> np.ndarray:
    """Return a mask of the tokens of a row's sequences."""
    return np.repeat(np.asarray(features.owner) == row, features.lengths)


def check_decoding(problem: Problem, raw: np.ndarray, table: pa.Table, findings: Findings) -> bool:
    """Check that raw outputs become one answer for each row that JSON can hold; return whether they do."""
    expected = problem.output_count(table)
    if len(raw) != expected:
        findings.add(f"gather gives {len(raw)} raw outputs, where output_count says {expected}: mend either of them")
        return False
    alone = sum(problem.output_count(table.slice(row, 1)) for row in range(table.num_rows))
    if alone != expected:
        findings.add(f"output_count says {expected} for all rows, and {alone} row by row: let it be a sum over rows")
        return False
    before = np.array(raw, copy=True)
    answers = answers_of(problem, raw, table)
    if len(answers) != table.num_rows:
        findings.add(f"decode gives {len(answers)} answers for {table.num_rows} rows: give one for each row")
        return False
    if not np.array_equal(before, raw, equal_nan=True):
        findings.add("decode changes the outputs that it is given: work on a copy, the outputs are decoded again later")
    elif answers_of(problem, raw, table) != answers:
        findings.add("decode gives other answers in a second call: let answers depend on outputs and rows only")
    names = ", ".join(problem.label_columns)
    with findings.step(f"to decode outputs for rows without the label columns ({names})"):
        if answers_of(problem, raw, unlabelled(problem, table)) != answers:
            findings.add(
                f"decode gives other answers for rows without the label columns ({names}): read no labels there"
            )
    try:
        if json.loads(json.dumps(answers)) != answers:
            findings.add("an answer is different after it was written as JSON and read again: use lists, not tuples")
    except TypeError as error:
        findings.add(f"an answer cannot be written as JSON ({error}): use Python's own texts, numbers and lists")
    return True


def _decode_alone(
    problem: Problem,
    features: Features,
    outputs: np.ndarray,
    raw: np.ndarray,
    table: pa.Table,
    recipe: Recipe,
    findings: Findings,
) -> None:
    """Compare the answer to each row alone with its answer among all rows."""
    answers = answers_of(problem, raw, table)
    for row in range(table.num_rows):
        one = table.slice(row, 1)
        alone = problem.encode(one, TinyEncoder(), recipe, training=False)
        chosen = _tokens_of(features, row) if problem.head.level == "token" else np.asarray(features.owner) == row
        if np.count_nonzero(chosen) != len(sample_outputs(problem, alone)):
            return  # the encoding differs, which was said already
        single = answers_of(problem, problem.gather(outputs[chosen].copy(), alone, one), one)
        if single != answers[row : row + 1]:
            findings.add(
                f"row {row} alone is answered by {single[0]!r}, among all rows by {answers[row]!r}: let `gather` and "
                "`decode` answer each row from its own outputs, whatever the order of the rows"
            )
            return


def _check_figures(problem: Problem, raw: np.ndarray, table: pa.Table, findings: Findings) -> None:
    for name, values in problem.extra_figures(raw, table, problem.decoding).items():
        if len(values) != table.num_rows:
            findings.add(f"extra_figures gives {len(values)} '{name}' for {table.num_rows} rows: give one for each row")
        try:
            json.dumps(values)
        except TypeError as error:
            findings.add(
                f"the extra figure '{name}' cannot be written as JSON ({error}): use lists of numbers, `.tolist()`"
            )


def _check_majority(problem: Problem, raw: np.ndarray, table: pa.Table, findings: Findings) -> None:
    """Check that `majority_output` and `fallback_output` give one raw output, which can be decoded."""
    outputs = {"majority_output": problem.majority_output(table), "fallback_output": problem.fallback_output()}
    for name, output in outputs.items():
        if output is None:
            continue
        if np.shape(output) != raw.shape[1:]:
            findings.add(f"{name} has the shape {np.shape(output)}: give that of one raw output, {raw.shape[1:]}")
        else:
            repeated = np.repeat(np.asarray(output)[None], len(raw), axis=0)
            check_decoding(problem, repeated, table, findings)


def _check_averages(
    problem: Problem, features: Features, outputs: np.ndarray, raw: np.ndarray, table: pa.Table, findings: Findings
) -> None:
    """Check that equal outputs average to the same answers, and that the order of the fits does not matter."""
    with contextlib.suppress(RequestError):  # answers of some problems cannot be averaged
        answers = answers_of(problem, raw, table)
        if answers_of(problem, problem.average([raw, raw]), table) != answers:
            findings.add(
                "the average of two equal outputs gives different answers: let `average` keep what all fits agree on"
            )
        other = problem.gather(outputs[::-1].copy(), features, table)
        average = answers_of(problem, problem.average([raw, other]), table)
        if average != answers_of(problem, problem.average([other, raw]), table):
            findings.add("average gives other answers for the same fits in another order: treat all fits alike")


def check_spelling(problem: Problem, gold: Sequence[Any], findings: Findings) -> None:
    """Check that right answers survive a prediction file, and that a strange line is refused with a `ValueError`."""
    for label in gold:
        text = problem.spell(problem.best_answer(label))
        if not isinstance(text, str) or "\n" in text or "\r" in text:
            findings.add(f"spell writes {text!r}, which is no single line of text: write an answer as one line")
            return
        if problem.spell(problem.parse(text)) != text:
            findings.add(
                f"an answer is different after it was written to a prediction file and read again: parse makes "
                f"{problem.parse(text)!r} of {text!r}"
            )
            return
    try:
        problem.parse("\x00 no answer \x00")
    except ValueError:
        pass
    except Exception as error:
        findings.add(f"parse raises {described(error)} for a strange line: raise a ValueError with what was expected")
