"""Files of a shared folder that follow from its study alone: the README and the metadata of each backbone.

`check` writes these files again and compares every byte.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from benchrunner_share.documents import every_eval_ever, statements
from benchrunner_share.documents.card_scores import CardScore, card_scores
from benchrunner_share.documents.contents import README, sealed_places
from benchrunner_share.documents.eval_results import eval_results


def derived_files(content: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the names and texts of all derived files of a study."""
    of_backbones = dict[str, list[CardScore]]()
    for score in card_scores(content):
        of_backbones.setdefault(score.backbone, []).append(score)
    yield README, _readme(content, list(card_scores(content)))
    folders = file_names(of_backbones)
    for backbone, scores in of_backbones.items():
        if results := eval_results(scores, content):
            yield f"hub/{folders[backbone]}/.eval_results/benchrunner.yaml", results
        for path, text in every_eval_ever.logs(backbone, scores, content):
            yield f"every_eval_ever/{path}", text


def file_names(names: Iterable[str], form: str = "{}") -> dict[str, str]:
    """Map each name, such as that of a backbone, to a name for its files; no two are equal, also if case is ignored.

    `form` is the path with {} in the place of the name.
    """
    files: dict[str, str] = {}
    used = set[str]()
    for name in dict.fromkeys(names):
        base = re.sub(r"[^A-Za-z0-9._-]+", "--", name)[:100].strip(".-") or "backbone"
        numbered = (f"{base}-{number}" for number in range(2, len(files) + 3))
        files[name] = next(file for file in map(form.format, (base, *numbered)) if file.casefold() not in used)
        used.add(files[name].casefold())
    return files


def _readme(content: Mapping[str, Any], scores: Sequence[CardScore]) -> str:
    lines = [
        f"# Results of the study {_cell(content['name'])}",
        "",
        f"Written by benchrunner {_cell(content['benchrunner'])}; the newest answers are of "
        f"{_cell(content['answered'])}. To verify it, install benchrunner with the",
        "plugins of the tasks, get the data, and run `benchrunner check FOLDER --data DIR`.",
        "",
        *_table(scores),
        "",
        "The mean is over the restarts at the grid point that dev selected. The best restart was chosen on dev",
        "itself, so that its score is optimistic.",
        "",
        *_about_sealed(content),
        "## What a verification proves",
        "",
        *statements.lines(),
        "",
        "## Files",
        "",
        "- `study.json`: what was compared, and every score.",
        "- `fits/`, `predictions/`: each fit with its record; each prediction with one answer for each row, in the",
        "  order of the rows. No text of the data is here, except where an answer itself is text.",
        "- `hub/`: scores for the models on the Hugging Face hub, where the data is there too.",
        "- `every_eval_ever/`: the same scores in the format of Every Eval Ever, in the folders of its datastore.",
        "- `manifest.json`: the SHA-256 of every file.",
    ]
    return "\n".join(lines) + "\n"


def _about_sealed(content: Mapping[str, Any]) -> Iterator[str]:
    """Say which answers have no scores here."""
    if places := sealed_places(content):
        yield f"Sealed: {_cell(', '.join(places))}. The answers are in the folder, and were given without the labels:"
        yield "whoever has these scores the answers with `benchrunner check`."
        yield ""


def _table(scores: Sequence[CardScore]) -> Iterator[str]:
    yield "| backbone | task | split | metric | mean | deviation | restarts | best on dev | majority | warnings |"
    yield "|---|---|---|---|---:|---:|---:|---:|---:|---|"
    for score in scores:
        if score.is_detail:
            continue
        names = (score.backbone, f"{score.task} ({score.method})", score.split, score.metric)
        spread = (score.shown(score.deviation), str(len(score.restarts)))
        figures = (score.shown(score.mean), *spread, score.shown(score.best), score.shown(score.majority))
        yield f"| {' | '.join((*map(_cell, names), *figures, _cell('; '.join(score.warnings))))} |"


def _cell(text: object) -> str:
    """Return a text for Markdown: on one line, without marks that end a cell or begin HTML."""
    return re.sub(r"([|<>`*_\[\]\\#~!&])", r"\\\1", " ".join(str(text).split()))
