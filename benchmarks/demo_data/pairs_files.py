"""Writes small generated files of pairs in the official layouts, for `benchrunner demo` and tests.

A model that was pre-trained on English finds most of the right sentences likelier; one with random weights does not.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

ROWS = 12
"""Number of objects of each paradigm, of each item of EWoK and of each property."""
MEN = ("The man", "The boy", "The captain", "His father")
WOMEN = ("The woman", "The girl", "The lady", "His mother")
PLURALS = ("The men", "The women", "The children", "His sisters")
PLACES = ("in the garden", "at the door", "in the house", "in the evening", "near the river")
AGREEMENT, ANAPHORS, FORMS = "subject_verb_agreement", "anaphor_agreement", "irregular_forms"
PARADIGMS = (
    ("present_agreement_singular", AGREEMENT, MEN + WOMEN, "is", "are"),
    ("present_agreement_plural", AGREEMENT, PLURALS, "are", "is"),
    ("past_agreement_singular", AGREEMENT, MEN + WOMEN, "was", "were"),
    ("past_agreement_plural", AGREEMENT, PLURALS, "were", "was"),
    ("auxiliary_agreement_singular", AGREEMENT, MEN + WOMEN, "has been", "have been"),
    ("auxiliary_agreement_plural", AGREEMENT, PLURALS, "have been", "has been"),
    ("anaphor_gender_men", ANAPHORS, MEN, "saw himself", "saw herself"),
    ("anaphor_gender_women", ANAPHORS, WOMEN, "saw herself", "saw himself"),
    ("anaphor_number", ANAPHORS, PLURALS, "saw themselves", "saw himself"),
    ("irregular_past", FORMS, MEN + WOMEN, "went away", "goed away"),
)
"""Paradigm, phenomenon, subjects, and the right and the wrong words after the subject."""
ITEMS = (
    ("physical-relations", "lit", "dark", "The lamp is lit.", "The lamp is out.", "It is bright.", "It is dark."),
    ("physical-relations", "open", "shut", "The door is open.", "The door is shut.", "He goes in.", "He knocks."),
    ("agent-properties", "ill", "well", "The boy is ill.", "The boy is well.", "He lies in bed.", "He runs about."),
    ("agent-properties", "rich", "poor", "She is rich.", "She is poor.", "She buys a house.", "She begs for bread."),
    ("social-relations", "friend", "enemy", "He is my friend.", "He is my enemy.", "I love him.", "I hate him."),
    ("social-relations", "praise", "blame", "She praised me.", "She blamed me.", "I was happy.", "I was ashamed."),
)
"""Domain, two concepts, two contexts, and the sentence that follows from each."""
PROPERTIES = (
    ("dog", "table", "can run"),
    ("ship", "book", "can sail"),
    ("bird", "stone", "can sing"),
    ("man", "tree", "can speak"),
    ("fire", "river", "is hot"),
    ("knife", "pillow", "is sharp"),
)
"""A concept with a property, a concept without the property, and the property."""
Objects = Callable[[random.Random], Iterator[tuple[str, dict[str, Any]]]]
"""Yields (name of the file, object)."""


def _blimp(draw: random.Random) -> Iterator[tuple[str, dict[str, Any]]]:
    for paradigm, phenomenon, subjects, right, wrong in PARADIGMS:
        names = {"field": "morphology", "linguistics_term": phenomenon, "UID": paradigm}
        for number in range(ROWS):
            subject, place = draw.choice(subjects), draw.choice(PLACES)
            good, bad = (f"{subject} {words} {place}." for words in (right, wrong))
            yield paradigm, {"sentence_good": good, "sentence_bad": bad, **names, "pairID": str(number)}


def _supplement(draw: random.Random) -> Iterator[tuple[str, dict[str, Any]]]:
    for _ in range(ROWS):
        subject, place = draw.choice(MEN + WOMEN).lower(), draw.choice(PLACES)
        texts = {"sentence_good": f"Did {subject} see it {place}?", "sentence_bad": f"Saw did {subject} it {place}?"}
        yield "subject_aux_inversion", texts
        texts = {"sentence_good": f"Who is {place}? {subject}.", "sentence_bad": f"Who is {subject}? {place}."}
        yield "qa_congruence_easy", texts


def _ewok(draw: random.Random) -> Iterator[tuple[str, dict[str, Any]]]:
    for domain, concept, other, context, other_context, target, other_target in ITEMS:
        concepts = {"Domain": domain, "ConceptA": concept, "ConceptB": other}
        kinds = {"ContextType": "direct", "ContextDiff": "antonym", "TargetDiff": "concept swap"}
        for _ in range(ROWS // 2):
            start = draw.choice(("Look:", "You know:", "Listen:", "I say:"))
            contexts = {"Context1": f"{start} {context}", "Context2": f"{start} {other_context}"}
            yield domain, concepts | kinds | contexts | {"Target1": target, "Target2": other_target}


def _ewok_twice(draw: random.Random) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each object of EWoK, then the same with 1 and 2 exchanged, as BabyLM's files have them."""
    for domain, given in _ewok(draw):
        yield domain, given
        exchanged = {
            f"{kind}{3 - number}": given[f"{kind}{number}"] for kind in ("Context", "Target") for number in (1, 2)
        }
        yield domain, given | exchanged


def _comps(draw: random.Random) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, (right, wrong, what) in enumerate(PROPERTIES * (ROWS // 2)):
        known = {"id": number, "property": what, "property_phrase": f"{what}.", "negative_sample_type": "random"}
        concepts = {"acceptable_concept": right, "unacceptable_concept": wrong}
        name = draw.choice(("wug", "dax", "fep", "blick"))
        for file, prefix in (("comps_base", "A {}"), ("comps_wugs", f"A {name} is a {{}}. Therefore, a {name}")):
            prefixes = {"prefix_acceptable": prefix.format(right), "prefix_unacceptable": prefix.format(wrong)}
            yield file, known | concepts | prefixes


LAYOUTS: Mapping[str, tuple[str, Objects]] = {
    "blimp": ("blimp/data", _blimp),
    "blimp-filtered": ("blimp_filtered", _blimp),
    "blimp-supplement": ("supplement_filtered", _supplement),
    "ewok": ("ewok", _ewok),
    "ewok-filtered": ("ewok_filtered", _ewok_twice),
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
