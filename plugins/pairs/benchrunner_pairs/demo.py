"""Writes small generated files of pairs in the official layouts, for `benchrunner demo` and tests.

A model that was pre-trained on English finds most of the right texts likelier; a model with random weights does not.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

ROWS = 40
"""Number of objects in each file."""
PERSONS = ("The man", "The old woman", "The boy", "The captain", "His mother")
PLURALS = ("The men", "The old women", "The boys", "The captains", "His sisters")
THINGS = ("letter", "lamp", "boat", "hat", "book")
PLACES = ("in the garden", "at the door", "in the house", "on the table")
PRONOUNS = {"The man": "himself", "The boy": "himself", "The old woman": "herself", "His mother": "herself"}
"""Person -> the pronoun for this person."""
OPPOSITES = (("The lamp is lit.", "The room is bright.", "The lamp is out.", "The room is dark."),)
OPPOSITES += (("The boy is ill.", "He stays in bed.", "The boy is well.", "He runs in the garden."),)
OPPOSITES += (("The door is open.", "She goes in.", "The door is locked.", "She cannot go in."),)
"""A context with the target that follows from it, twice."""
CONCEPTS = (("dog", "table", "can run"), ("ship", "book", "can sail"), ("knife", "pillow", "is sharp"))
"""A concept with a property, a concept without it, and the property."""

Objects = Callable[[random.Random], Iterator[tuple[str, dict[str, Any]]]]
"""Yields (name of the file, object)."""


def _agreement(draw: random.Random) -> Iterator[tuple[str, dict[str, Any]]]:
    for verb, number in (("is", "singular"), ("are", "plural")):
        subjects, other = (PERSONS, "are") if number == "singular" else (PLURALS, "is")
        for _ in range(ROWS):
            start, end = draw.choice(subjects), draw.choice(PLACES)
            texts = {"sentence_good": f"{start} {verb} {end}.", "sentence_bad": f"{start} {other} {end}."}
            yield f"{number}_subject_verb_agreement", texts


def _anaphors(draw: random.Random) -> Iterator[tuple[str, dict[str, Any]]]:
    for _ in range(ROWS):
        person, right = draw.choice(list(PRONOUNS.items()))
        wrong = "herself" if right == "himself" else "himself"
        verb = draw.choice(("saw", "loved", "blamed", "asked"))
        texts = {"sentence_good": f"{person} {verb} {right}.", "sentence_bad": f"{person} {verb} {wrong}."}
        yield "anaphor_gender_agreement", texts


def _blimp(draw: random.Random) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, (name, texts) in enumerate((*_agreement(draw), *_anaphors(draw))):
        term = "anaphor_agreement" if name.startswith("anaphor") else "subject_verb_agreement"
        labels = {"field": "morphology", "linguistics_term": term, "UID": name}
        yield name, {**texts, **labels, "pairID": str(number % ROWS)}


def _supplement(draw: random.Random) -> Iterator[tuple[str, dict[str, Any]]]:
    for _ in range(ROWS):
        person, thing = draw.choice(PERSONS).lower(), draw.choice(THINGS)
        texts = {"sentence_good": f"Did {person} see the {thing}?", "sentence_bad": f"Saw did {person} the {thing}?"}
        yield "subject_aux_inversion", texts


def _ewok(draw: random.Random) -> Iterator[tuple[str, dict[str, Any]]]:
    for number in range(ROWS):
        first, target, second, other = OPPOSITES[number % len(OPPOSITES)]
        concepts = {"Domain": "physical-relations", "ConceptA": first.split()[1], "ConceptB": first.split()[-1]}
        texts = {"Context1": first, "Context2": second, "Target1": target, "Target2": other}
        kinds = {"ContextType": "direct", "ContextDiff": "antonym", "TargetDiff": "concept swap"}
        yield "physical-relations", concepts | texts | kinds


def _comps(draw: random.Random) -> Iterator[tuple[str, dict[str, Any]]]:
    for number in range(ROWS):
        right, wrong, what = CONCEPTS[number % len(CONCEPTS)]
        common = {"id": number, "property": what, "property_phrase": f"{what}.", "negative_sample_type": "random"}
        concepts = {"acceptable_concept": right, "unacceptable_concept": wrong}
        yield (
            "comps_base",
            {**common, **concepts, "prefix_acceptable": f"A {right}", "prefix_unacceptable": f"A {wrong}"},
        )
        wug = {f"prefix_{kind}": f"A wug is a {noun}. Therefore, a wug" for kind, noun in _kinds(right, wrong)}
        yield "comps_wugs", {**common, **concepts, **wug}


def _kinds(right: str, wrong: str) -> tuple[tuple[str, str], ...]:
    return ("acceptable", right), ("unacceptable", wrong)


LAYOUTS: Mapping[str, tuple[str, Objects]] = {
    "blimp": ("blimp/data", _blimp),
    "blimp-filtered": ("blimp_filtered", _blimp),
    "blimp-supplement": ("supplement_filtered", _supplement),
    "ewok": ("ewok", _ewok),
    "ewok-filtered": ("ewok_filtered", _ewok),
    "comps": ("comps", _comps),
}
"""Task -> its folder, and what makes its objects."""


def write(task: str, seed: int, folder: Path) -> None:
    """Write the files of a task below a folder. Equal seeds give equal bytes."""
    place, objects = LAYOUTS[task]
    lines: dict[str, list[str]] = {}
    for name, given in objects(random.Random(f"{task} {seed}")):
        of_file = lines.setdefault(name, [])
        of_file.append(json.dumps(given) + "\n")
    home = folder / place
    home.mkdir(parents=True, exist_ok=True)
    for name, written in lines.items():
        (home / f"{name}.jsonl").write_bytes("".join(written).encode())
