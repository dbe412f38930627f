"""The tasks, one row each: BLiMP, EWoK and COMPS, and what BabyLM's challenge made of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from shutil import unpack_archive
from typing import Any

from benchrunner import ACCURACY, Recipe, RowsFrom, Split, Task, Workspace
from benchrunner_kinds import Choose
from benchrunner_pairs.pair_files import PairFiles, RowsOfObject, blimp_rows, comps_rows, ewok_rows
from benchrunner_pairs.pair_metrics import MEAN_OF_PARADIGMS, accuracy_in

BABYLM = ("evaluation_data/full_eval/", "full_eval/", "babylm/", "")
"""Folders below the data folder that are searched for the folders of BabyLM's challenge."""
NO_TRAINING = "a pre-trained model is asked which text is likelier; there are no rows to learn from"
"""Why the default method trains nothing."""


PHENOMENA = (
    "anaphor_agreement",
    "argument_structure",
    "binding",
    "control_raising",
    "determiner_noun_agreement",
    "ellipsis",
    "filler_gap_dependency",
    "irregular_forms",
    "island_effects",
    "npi_licensing",
    "quantifiers",
    "s-selection",
    "subject_verb_agreement",
)
"""Values of `linguistics_term` in the files of BLiMP. The paper counts s-selection as argument structure."""
DOMAINS = (
    "agent-properties",
    "material-dynamics",
    "material-properties",
    "physical-dynamics",
    "physical-interactions",
    "physical-relations",
    "quantitative-properties",
    "social-interactions",
    "social-properties",
    "social-relations",
    "spatial-relations",
)
"""Values of `Domain` in the files of EWoK."""
SUPPLEMENT = ("hypernym", "qa_congruence_easy", "qa_congruence_tricky", "subject_aux_inversion", "turn_taking")
"""Files of BabyLM's supplement."""


def examples(workspace: Workspace) -> Mapping[str, list[Any]]:
    """Return two pairs in place of training data: they say what a row is, and how often each answer is right."""
    return {
        "a": ["", ""],
        "choices": [["She sees him.", "She see him."], ["They is here.", "They are here."]],
        "label": [0, 1],
        "ending": ["", ""],
        "paradigm": ["example", "example"],
        "phenomenon": ["example", "example"],
        "item": ["example", "example"],
    }


@dataclass(frozen=True)
class Row:
    """One task: everything in which it differs from the others."""

    name: str
    about: str
    folders: tuple[str, ...]
    """Folders of its files below the data folder."""
    pairs: RowsOfObject
    rows: int
    """Official number of rows."""
    clusters: str
    """Column whose equal values mark rows that belong together."""
    parts: tuple[str, ...]
    """Values of `part_column` that have a figure each."""
    part_column: str = "paradigm"
    licence: str = ""

    def task(self) -> Task:
        """Make the task of this row."""
        return Task(
            name=f"pairs/{self.name}",
            about=self.about,
            problem=Choose(choices=2),
            splits={
                "train": Split("train", (RowsFrom(examples),)),
                "dev": Split("dev", (PairFiles(self.folders, self.pairs),), self.rows),
            },
            metrics=(ACCURACY, MEAN_OF_PARADIGMS, *(accuracy_in(self.part_column, part) for part in self.parts)),
            recipe=Recipe(max_length=512),
            method="likelihood",
            method_reason=NO_TRAINING,
            demo_files=partial(unpack_archive, Path(__file__).parent / f"demo_data/{self.name}.zip"),
            columns=("ending", "paradigm", "phenomenon", "item"),
            clusters=self.clusters,
            language="en",
            licence=self.licence,
        )


def _of_babylm(folder: str) -> tuple[str, ...]:
    return tuple(f"{root}{folder}" for root in BABYLM)


TABLE = (
    Row(
        "blimp",
        "Which of two sentences is grammatical? 67 paradigms of English (Warstadt et al. 2020)",
        ("blimp/data", "BLiMP/data", "blimp"),
        blimp_rows,
        67_000,
        "paradigm",
        PHENOMENA,
        "phenomenon",
        "CC BY 4.0",
    ),
    Row(
        "ewok",
        "Which of two contexts makes a sentence plausible? World knowledge in 11 domains (Ivanova et al. 2024)",
        ("ewok/data", "ewok-core-1.0", "ewok"),
        ewok_rows,
        8_748,
        "item",
        DOMAINS,
    ),
    Row(
        "comps",
        "Which of two concepts has a property? Known and made-up concepts (Misra et al. 2023)",
        ("comps/data/comps", "comps/data", *_of_babylm("comps")),
        comps_rows,
        91_028,
        "item",
        ("base", "wugs", "wugs_dist_before", "wugs_dist_in_between"),
    ),
    Row(
        "blimp-filtered",
        "BLiMP with the words of BabyLM's corpus",
        _of_babylm("blimp_filtered"),
        blimp_rows,
        59_875,
        "paradigm",
        PHENOMENA,
        "phenomenon",
    ),
    Row(
        "blimp-supplement",
        "Which of two sentences, questions or dialogues is well-formed? BabyLM's supplement to BLiMP",
        _of_babylm("supplement_filtered"),
        blimp_rows,
        5_218,
        "paradigm",
        SUPPLEMENT,
    ),
    Row(
        "ewok-filtered",
        "EWoK with the words of BabyLM's corpus",
        _of_babylm("ewok_filtered"),
        partial(ewok_rows, targets=(1,)),  # the files have each item twice, the second time with 1 and 2 exchanged
        7_618,
        "item",
        DOMAINS,
    ),
)


def tasks() -> Iterator[Task]:
    """Yield the tasks of minimal pairs, one for each row of `TABLE`."""
    for row in TABLE:
        yield row.task()
