"""The four benchmarks: where their files may lie, which columns they have, and the recipes of their baselines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from shutil import unpack_archive

from benchrunner import ACCURACY, Classify, Recipe, Reshaped, Role, Source, Suite, Task, TextTable
from benchrunner_kinds import Tag, WordColumns, iob_tags
from benchrunner_tasks import HubTable
from benchrunner_xlingual.languages import PAWSX_LANGUAGES, SIB200_LANGUAGES, XNLI_LANGUAGES
from benchrunner_xlingual.of_language import COLUMN, OfLanguage
from benchrunner_xlingual.phrases import SPAN_METRICS, without_prefix
from benchrunner_xlingual.transfer import Transfer

HUB_SPLITS: Mapping[Role, str] = {"train": "train", "dev": "validation", "test": "test"}


def _paths(roots: tuple[str, ...], *files: str) -> tuple[str, ...]:
    """List the searched paths of a file with these names, root by root."""
    return tuple(f"{root}{file}" for root in roots for file in files)


def _xnli(role: Role, language: str) -> tuple[Source, ...]:
    """Return XNLI's sources. Its dev and test files hold all languages; train is a file of the archive XNLI-MT."""
    hub = HubTable(
        "facebook/xnli",
        language,
        HUB_SPLITS[role],
        {"a": "premise", "b": "hypothesis", "label": "label"},
        revision="b8dd5d7af51114dbda02c0e3f6133f332186418e",
    )
    roots = ("", "xnli/", "XNLI/")
    if role == "train":
        file = f"multinli.train.{language}.tsv"
        columns = {"a": "premise", "b": "hypo", "label": "label"}
        paths = _paths(roots, f"XNLI-MT-1.0/multinli/{file}", f"multinli/{file}", file)
        return TextTable(paths, columns, labels={"contradictory": "contradiction"}), hub
    columns = {"a": "sentence1", "b": "sentence2", "label": "gold_label", COLUMN: "language"}
    paths = _paths(roots, f"XNLI-1.0/xnli.{role}.tsv", f"xnli.{role}.tsv")
    return OfLanguage(TextTable(paths, columns), language), hub


def _pawsx(role: Role, language: str) -> tuple[Source, ...]:
    """Return PAWS-X's sources. The training files of other languages than English are translations."""
    train = "train.tsv" if language == "en" else "translated_train.tsv"
    file = {"train": train, "dev": "dev_2k.tsv", "test": "test_2k.tsv"}[role]
    columns = {"a": "sentence1", "b": "sentence2", "label": "label"}
    labels = {"0": "different", "1": "paraphrase"}
    paths = _paths(("x-final/", "pawsx/", "paws-x/", "PAWS-X/", "pawsx/x-final/"), f"{language}/{file}")
    repository, revision = "google-research-datasets/paws-x", "4cd8187c404bda33cb1f62b49b001115862acf37"
    return (
        TextTable(paths, columns, labels=labels),
        HubTable(repository, language, HUB_SPLITS[role], columns, labels=labels, revision=revision),
    )


def _wikiann(role: Role, language: str) -> tuple[Source, ...]:
    """Return WikiANN's sources: files of the balanced release, and files without the prefix as XTREME names them."""
    roots = ("wikiann/", "panx/", "panx_dataset/", "WikiANN/")
    words = WordColumns(
        (*_paths(roots, f"{language}/{role}", f"{role}-{language}.tsv"), f"{language}/{role}"),
        {"words": 0, "labels": 1},
        iob=True,
        layouts=(("words", "labels"), ("words",)),
        separator="\t",
        border="",
    )
    hub = HubTable(
        "unimelb-nlp/wikiann",
        language,
        HUB_SPLITS[role],
        {"words": "tokens", "labels": "ner_tags"},
        revision="f0a3be6dc5564c0cc4150bb660144800a1f539d4",
    )
    return Reshaped(words, partial(without_prefix, language)), hub


def _sib200(role: Role, language: str) -> tuple[Source, ...]:
    """Return SIB-200's sources. The files are tab-separated with quotes around some fields, as pandas writes them."""
    columns = {"a": "text", "label": "category"}
    paths = _paths(("", "sib200/", "sib-200/", "SIB-200/"), f"data/annotated/{language}/{role}.tsv")
    paths += _paths(("sib200/", "sib-200/", "SIB-200/"), f"{language}/{role}.tsv")
    return (
        TextTable(paths, columns, quoted=True),
        HubTable(
            "mteb/sib200",
            language,
            HUB_SPLITS[role],
            columns,
            revision="a74d7350ea12af010cfb1c21e34f1f81fd2e615b",
        ),
    )


DEMO = Path(__file__).with_name("demo_data")
"""Archives of small data sets in the layout of the files."""
RECIPE = Recipe(batch_size=32, epochs=5, lr=2e-5, max_length=128)
"""The recipe of XTREME's baselines for base models (Hu et al. 2020, scripts/train_xnli.sh and train_pawsx.sh)."""

XNLI = Transfer(
    name="en/xnli",
    about="Does the premise entail or contradict the hypothesis? Learned in English, answered in 15 languages",
    problem=Classify(("entailment", "neutral", "contradiction")),
    metrics=(ACCURACY,),
    sources=_xnli,
    languages=XNLI_LANGUAGES,
    train_language="en",
    recipe=RECIPE,
    rows=dict.fromkeys(XNLI_LANGUAGES, (392_702, 2_490, 5_010)),
    clusters="a",
    demo_files=partial(unpack_archive, DEMO / "xnli.zip"),
    licence="CC BY-NC 4.0",
)
"""Conneau et al. 2018. Three hypotheses share each premise, so premises are clusters."""

PAWSX = Transfer(
    name="en/paws-x",
    about="Do both sentences say the same? Learned in English, answered in 7 languages",
    problem=Classify(("different", "paraphrase")),
    metrics=(ACCURACY,),
    sources=_pawsx,
    languages=PAWSX_LANGUAGES,
    train_language="en",
    recipe=RECIPE,
    rows=dict.fromkeys(PAWSX_LANGUAGES, (49_401, 2_000, 2_000)),
    demo_files=partial(unpack_archive, DEMO / "pawsx.zip"),
    licence="any use; Google is named as the source",
)
"""Yang et al. 2019."""

WIKIANN = Transfer(
    name="en/wikiann",
    about="Which words name persons, organizations or locations? Learned in English, answered in 15 languages",
    problem=Tag(iob_tags.iob_labels(("PER", "ORG", "LOC"))),
    metrics=SPAN_METRICS,
    sources=_wikiann,
    languages=XNLI_LANGUAGES,
    train_language="en",
    recipe=RECIPE.changed(epochs=10, context="sentence"),
    rows=dict.fromkeys(XNLI_LANGUAGES, (20_000, 10_000, 10_000))
    | {"hi": (5_000, 1_000, 1_000), "sw": (1_000, 1_000, 1_000), "ur": (20_000, 1_000, 1_000)},
    demo_files=partial(unpack_archive, DEMO / "wikiann.zip"),
)
"""Pan et al. 2017, in the splits of Rahimi et al. 2019. The recipe is that of XTREME's scripts/train_panx.sh."""

SIB200 = Transfer(
    name="en/sib200",
    about="What is the sentence about? Learned in English, answered in 15 of 205 languages",
    problem=Classify(("science/technology", "travel", "politics", "sports", "health", "entertainment", "geography")),
    metrics=(ACCURACY,),
    sources=_sib200,
    languages=SIB200_LANGUAGES,
    train_language="eng_Latn",
    recipe=Recipe(batch_size=32, epochs=20, lr=1e-5, max_length=164),
    rows=dict.fromkeys(SIB200_LANGUAGES, (701, 99, 204)),
    demo_files=partial(unpack_archive, DEMO / "sib200.zip"),
    licence="CC BY-SA 4.0",
)
"""Adelani et al. 2024; the recipe is that of their code/xlmr_zero.sh (16 rows, two steps accumulated)."""


def tasks() -> Iterator[Task]:
    """Yield the four tasks that learn from English, in one suite with the averages of each."""
    benchmarks = (XNLI, PAWSX, WIKIANN, SIB200)
    suite = Suite("en", tuple(average for benchmark in benchmarks for average in benchmark.averages))
    for benchmark in benchmarks:
        yield benchmark.task(suite)
