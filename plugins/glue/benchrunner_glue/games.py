"""What the demo data sets say: a table of words, and for every task the templates that they fill.

What tells the answer is a matter of words alone, in the last text of a row, so that a small encoder learns it from a
few hundred rows without pre-training. WNLI's answers tell nothing, as in the original.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Game:
    """How one task's rows are made, and what its files look like."""

    folder: str
    columns: str
    """Of train and dev, separated by '|'."""
    test_columns: str
    answers: Mapping[str, tuple[int, tuple[str, ...]]]
    """A label as the files spell it -> its percentage, and templates of the last text, which tells it."""
    first: tuple[str, ...] = ()
    """Templates of the first of two texts, which tells nothing."""
    files: tuple[tuple[str, int], ...] = (("train", 500), ("dev", 120), ("test", 100))
    """The files' names and their rows."""
    bom: bool = False
    """Train and dev begin with a byte-order mark."""
    headless: bool = False
    """Train and dev have no header line."""
    contrary: bool = False
    """Dev repeats sentences of train with the opposite answers."""


WORDS = {
    "person": "teacher nurse farmer sailor painter lawyer baker pilot singer tailor gardener doctor",
    "place": "Norwich Lisbon Tampere Bergen Girona Leeds Trieste Galway Porto Utrecht Aarhus Basel",
    "thing": "guitar lamp basket carpet kettle mirror ladder violin saddle clock painting boat",
    "quality": "old small heavy wooden round blue narrow quiet plain broken",
    "right": "bought caught kept sold",
    "wrong": "buyed catched keeped selled",
    "praise": "charming moving clever delightful warm gripping graceful funny honest beautiful",
    "blame": "dull tedious clumsy lifeless shallow boring awful messy pointless stale",
    "film": "comedy drama thriller portrait romance documentary sequel story",
    "firm": "Halden Oil|Marlow Foods|Brandt Motors|Corvex|Ostrava Steel|Pell & Sons|Lindqvist|Tamar Air",
    "product": "bicycles cameras radios tractors printers blankets bottles engines",
    "month": "January March April June July September October December",
    "number": "2 3 4 5 7 8 11 12 15 19 24 30",
    "year": "1734 1788 1812 1848 1866 1901 1923 1957",
    "building": "library bridge market station museum harbour theatre lighthouse",
    "skill": "chess pottery Spanish sailing juggling carpentry painting cooking knitting calligraphy",
    "doing": "dancing singing reading cooking running painting sleeping fishing",
    "spot": "garden kitchen park street harbour yard",
}
"""A slot's choices; {slot2} is another choice for the same slot."""
ELSEWHERE = {
    "person": "admiral clerk dentist juggler miner monk referee sculptor",
    "place": "Oslo Cadiz Graz Brno Cork Turku",
}
"""What mismatched splits talk about instead."""

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

GAMES: Mapping[str, tuple[Game, ...]] = {
    "cola": (
        Game(
            folder="CoLA",
            columns="source|label|star|sentence",
            test_columns="index|sentence",
            headless=True,
            files=(("train", 600), ("dev", 120), ("test", 100)),
            answers={
                "1": (64, tuple(one.replace("VERB", "right") for one in _GRAMMAR)),
                "0": (36, tuple(one.replace("VERB", "wrong") for one in _GRAMMAR)),
            },
        ),
    ),
    "sst2": (
        Game(
            folder="SST-2",
            columns="sentence|label",
            test_columns="index|sentence",
            answers={
                "1": (56, tuple(one.replace("WORD", "praise") for one in _REVIEW)),
                "0": (44, tuple(one.replace("WORD", "blame") for one in _REVIEW)),
            },
        ),
    ),
    "mrpc": (
        Game(
            folder="MRPC",
            columns="Quality|#1 ID|#2 ID|#1 String|#2 String",
            test_columns="index|#1 ID|#2 ID|#1 String|#2 String",
            bom=True,
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
    ),
    "stsb": (
        Game(
            folder="STS-B",
            columns="index|genre|filename|year|old_index|source1|source2|sentence1|sentence2|score",
            test_columns="index|genre|filename|year|old_index|source1|source2|sentence1|sentence2",
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
    ),
    "qqp": (
        Game(
            folder="QQP",
            columns="id|qid1|qid2|question1|question2|is_duplicate",
            test_columns="id|question1|question2",
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
    ),
    "mnli": (
        Game(
            folder="MNLI",
            columns="index|promptID|pairID|genre|sentence1_binary_parse|sentence2_binary_parse|sentence1_parse"
            "|sentence2_parse|sentence1|sentence2|label1|gold_label",
            test_columns="index|promptID|pairID|genre|sentence1_binary_parse|sentence2_binary_parse|sentence1_parse"
            "|sentence2_parse|sentence1|sentence2",
            files=(
                ("train", 600),
                ("dev_matched", 120),
                ("dev_mismatched", 120),
                ("test_matched", 100),
                ("test_mismatched", 100),
            ),
            first=_PREMISES,
            answers=_HYPOTHESES,
        ),
        Game(
            folder="diagnostic",
            columns="",
            test_columns="index|sentence1|sentence2",
            files=(("diagnostic", 100),),
            first=_PREMISES,
            answers=_HYPOTHESES,
        ),
    ),
    "qnli": (
        Game(
            folder="QNLI",
            columns="index|question|sentence|label",
            test_columns="index|question|sentence",
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
    ),
    "rte": (
        Game(
            folder="RTE",
            columns="index|sentence1|sentence2|label",
            test_columns="index|sentence1|sentence2",
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
    ),
    "wnli": (
        Game(
            folder="WNLI",
            columns="index|sentence1|sentence2|label",
            test_columns="index|sentence1|sentence2",
            files=(("train", 400), ("dev", 100), ("test", 100)),
            contrary=True,
            first=(
                "The {thing} did not fit behind the {thing2} because it was too {quality}.",
                'The {person} took the {thing} for "the {thing2}" because it was {quality}.',
            ),
            answers={"0": (51, _NOUNS), "1": (49, _NOUNS)},
        ),
    ),
}
