"""The texts of the demo data sets: templates for the rows of each task.

The words of a row's last text tell the answer, so a small encoder learns a task from a few hundred rows without
pre-training. Only WNLI's texts do not tell the answer, as in the original.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Texts:
    """Templates for the texts of a task's rows, and the proportions of the answers."""

    answers: Mapping[str, tuple[int, tuple[str, ...]]]
    """The files' text of a label -> its percentage of the rows, and templates of the last text, which tells it."""
    first: tuple[str, ...] = ()
    """Templates of the first of two texts, which tells nothing about the answer."""
    contradicts_train: bool = False
    """Whether dev repeats texts of train with the opposite answers."""


_GRAMMAR = (
    "The {person} {VERB} the {quality} {thing} and {VERB2} it in {place}.",
    "In {month} the {person} {VERB} a {thing} that the {person2} {VERB2}.",
    'It was the {person} who {VERB} "the {quality} {thing}" and {VERB2} it.',
    "Which {thing} did you say the {person} {VERB} and {VERB2} in {place}?",
)
_REVIEW = (
    "a {WORD} and often {WORD2} {film} . ",
    "the {film} is {WORD} and its ending is {WORD2} ",
    '" {WORD} " is the word for this {WORD2} {film} . ',
    'the {person} from {place} calls it a {WORD} , " {WORD2} {film} ',
)
_PREMISES = (
    "The {person} {right} the {quality} {thing} in {place} last {month}.",
    "Well, the {person} and the {person2} {right} a {thing}, you know.",
    '"In {month} the {person} from {place} {right} the {thing}.',
)
_HYPOTHESES = {
    "entailment": (34, ("Somebody {right} at least one {thing}.", "At least one {thing} was there for somebody.")),
    "neutral": (33, ("Perhaps the {person} wanted to please the {person2}.", "The {thing} was perhaps for a friend.")),
    "contradiction": (33, ("Nobody in {place} has ever seen a {thing}.", "The {person} never {right} any {thing}.")),
}
_NOUNS = ("The {thing} was too {quality}.", "The {thing2} was too {quality}.")
_NEWS = (
    "{firm} said on Monday that it would close its plant in {place} in {month}.",
    'The {firm} plant in {place} makes {product}, "{quality} but cheap", for {number} countries.',
    "{number} workers lost their jobs when {firm} left {place} in {month}.",
)

TEXTS: Mapping[str, Texts] = {
    "cola": Texts(
        answers={
            "1": (64, tuple(template.replace("VERB", "right") for template in _GRAMMAR)),
            "0": (36, tuple(template.replace("VERB", "wrong") for template in _GRAMMAR)),
        },
    ),
    "sst2": Texts(
        answers={
            "1": (56, tuple(template.replace("WORD", "praise") for template in _REVIEW)),
            "0": (44, tuple(template.replace("WORD", "blame") for template in _REVIEW)),
        },
    ),
    "mrpc": Texts(
        first=(
            "{firm} said on Monday that it sold {number} percent more {product} in {month} .",
            '" Sales of {product} rose by {number} percent in {month} , " {firm} said .',
            '" In {month} {firm} sold {number} percent more {product} than a year ago .',
        ),
        answers={
            "1": (
                67,
                (
                    "{product} sales at {firm} climbed {number} percent in {month} , the company said .",
                    "The company said {month} sales of its {product} had climbed by {number} percent .",
                    '{firm} , the company that makes {product} , said sales climbed " {number} percent " .',
                ),
            ),
            "0": (
                33,
                (
                    "{firm2} blamed the weather for losses in its {product} business .",
                    '" Analysts doubt that {firm} will recover from its {month} losses .',
                    "Shares of {firm} fell {number2} percent after losses in {place} .",
                ),
            ),
        },
    ),
    "stsb": Texts(
        first=(
            "A {person} is {doing} in the {spot}.",
            'A {person} is {doing} in the "old {spot}".',
        ),
        answers={
            "5": (28, ("There is a {person} who is {doing} there in the {spot}.",)),
            "4": (18, ("A smiling {person} is {doing} happily beside the {spot}.",)),
            "3": (14, ("The {person} and some friends are {doing} together.",)),
            "2": (12, ("Several people are {doing2} somewhere in a crowded city.",)),
            "1": (12, ("Nobody is {doing2} outside because of the rain.",)),
            "0": (16, ('Traders said prices of {product} in {place} "fell again".',)),
        },
    ),
    "qqp": Texts(
        first=(
            "How do I learn {skill} in {place}?",
            "What is the best way for a {person} to learn {skill}?",
            '"I want to learn {skill} before {month}. What should I do?',
        ),
        answers={
            "1": (
                37,
                (
                    "How can a beginner start to learn {skill}?",
                    "What should a beginner in {place} do to learn {skill} well?",
                    'Is there an easy way to "pick up" {skill} as a beginner?',
                ),
            ),
            "0": (
                63,
                (
                    "Who invented {skill}, and was it in {place}?",
                    "Why is {skill} so popular with every {person} in {place2}?",
                    'Where does the name "{skill}" come from?',
                ),
            ),
        },
    ),
    "mnli": Texts(
        first=_PREMISES,
        answers=_HYPOTHESES,
    ),
    "qnli": Texts(
        first=(
            "When was the {building} of {place} opened?",
            "In which year did {place} get its {quality} {building}?",
            'Since when has {place} had a {building} called "The {quality} One"?',
        ),
        answers={
            "entailment": (
                50,
                (
                    "The {building} was opened by the mayor in the spring of {year}.",
                    "Work ended in {month} {year}, and the mayor opened it the same day.",
                    '"It was opened in {year} by a {person}, and burned down twice.',
                ),
            ),
            "not_entailment": (
                50,
                (
                    "Its narrow windows and arches are painted white and green.",
                    "Visitors call the {building} a quiet place with tall windows.",
                    'A {person} from {place} described its windows as "{quality} but charming".',
                ),
            ),
        },
    ),
    "rte": Texts(
        first=_NEWS,
        answers={
            "entailment": (
                50,
                (
                    "{firm} has had a plant in {place}.",
                    "There has been a plant of {firm} in {place}.",
                    'People in {place} have had work at "{firm}".',
                ),
            ),
            "not_entailment": (
                50,
                (
                    "{firm} was founded by a {person} in {year}.",
                    "A {person} founded the rival firm {firm2}.",
                    '"{firm} will move its founders to {place2}.',
                ),
            ),
        },
    ),
    "wnli": Texts(
        contradicts_train=True,
        first=(
            "The {thing} did not fit behind the {thing2} because it was too {quality}.",
            'The {person} took the {thing} for "the {thing2}" because it was {quality}.',
        ),
        answers={"0": (51, _NOUNS), "1": (49, _NOUNS)},
    ),
}
"""Task -> the texts of its rows."""
