"""Tables as Markdown, LaTeX and HTML, with their notes."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from benchrunner.results import Result, Study, comparison
from benchrunner_report.pages import page_environment


def as_markdown(table: comparison.Layout, notes: Iterable[str]) -> str:
    """Write a table in Markdown, with the notes as a list below it; published figures are in italics."""
    lines = [
        _markdown_row(map(_markdown, table.headers)),
        _markdown_row("---:" if numeric else "---" for numeric in table.numeric),
    ]
    lines += [_markdown_row(_emphasized(line, _markdown, "*{}*", "**{}**")) for line in table.lines]
    lines.append("")
    lines += [f"- {_markdown(note)}" for note in (table.title, *notes) if note]
    return "\n".join(lines)


def _emphasized(line: comparison.Line, escape: Callable[[str], str], published: str, best: str) -> Iterator[str]:
    """Yield the escaped cells of a line: published figures, and the best figures of a column, in their forms."""
    for number, text in enumerate(line.cells):
        cell = escape(text)
        if number in line.best:
            cell = best.format(cell)
        elif cell and line.kind == "published":
            cell = published.format(cell)
        yield cell


def _markdown_row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _markdown(text: str) -> str:
    """Escape what Markdown or HTML would read as markup."""
    escaped = html.escape(" ".join(text.split()), quote=False)
    return re.sub(r"[\\|*_`\[\]#]", r"\\\g<0>", escaped)


_LATEX = str.maketrans(
    {
        **{character: f"\\{character}" for character in "&%$#_{}"},
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        "±": r"$\pm$",
    }
)


def _latex(text: str) -> str:
    return " ".join(text.split()).translate(_LATEX)


LATEX_PACKAGES = "% In the preamble: \\usepackage{booktabs,graphicx}"


def as_latex(table: comparison.Layout, notes: Iterable[str], result: Result) -> str:
    """Write a floating table in LaTeX, not wider than the text, with tasks named as papers name them.

    The caption says what is compared, and what figures and marks mean; notes stand as comments below the table.
    """
    columns = "".join("r" if numeric else "l" for numeric in table.numeric)
    headers = [_paper_name(header, result.study) for header in table.headers]
    lines = [
        LATEX_PACKAGES,
        r"\begin{table}",
        r"\centering",
        f"\\caption{{{' '.join(map(_latex, _caption(table, result)))}}}",
        f"\\label{{tab:{re.sub('[^A-Za-z0-9.-]+', '-', result.name) or 'scores'}}}",
        r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        f"\\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        _latex_row(map(_latex_header, headers, table.numeric)),
        r"\midrule",
    ]
    for number, line in enumerate(table.lines):
        if line.begins_group and number:
            lines.append(r"\midrule")
        cells = tuple(_paper_name(cell, result.study) for cell in line.cells)
        lines.append(_latex_row(_emphasized(replace(line, cells=cells), _latex, r"\textit{{{}}}", r"\textbf{{{}}}")))
    lines += [r"\bottomrule", r"\end{tabular}}", r"\end{table}"]
    lines += [f"% {' '.join(note.split())}" for note in notes]
    return "\n".join(lines)


def _paper_name(text: str, study: Study) -> str:
    """Put the name that papers have for a task in place of the task's name at the beginning of a text."""
    for task in study.tasks:
        rest = text.removeprefix(task.name)
        if rest != text and rest[:1] in ("", " ", "\n"):
            return f"{task.title or task.name.partition('/')[2]}{rest}"
    return text


def _caption(table: comparison.Layout, result: Result) -> Iterator[str]:
    """Yield the sentences that say what a table compares, and what its figures and marks mean."""
    study = result.study
    tasks = dict.fromkeys(_paper_name(task.name, study) for task in study.tasks)
    yield f"Scores of {', '.join(study.compared)} on {', '.join(tasks)}."
    if table.title[:3] not in ("", "dev"):
        yield f"{table.title.capitalize()}."
    counts = {len(figure.values) for figure in result.figures.values() if figure.deviation is not None}
    restarts = " or ".join(map(str, sorted(counts)))
    yield f"Mean ± standard deviation of {restarts} restarts." if restarts else "One restart each."
    if any("[" in cell for line in table.lines for cell in line.cells):
        yield "In brackets: 95 % intervals over other examples."
    if any(line.best for line in table.lines):
        yield "Bold: best of its column, or tied for best."
    for meaning in table.legend:
        yield f"{meaning.replace('  ', ': ', 1)}."


def _latex_header(header: str, numeric: bool) -> str:
    """Write the lines of a header below each other."""
    lines = r" \\ ".join(map(_latex, header.split("\n")))
    side = "r" if numeric else "l"
    return f"\\begin{{tabular}}[b]{{@{{}}{side}@{{}}}}{lines}\\end{{tabular}}" if "\n" in header else lines


def _latex_row(cells: Iterable[str]) -> str:
    """Write the cells of a row; without the braces, `\\\\` before it would take a bracket or a star as its option."""
    row = " & ".join(cells)
    return ("{}" if row.startswith(("[", "*")) else "") + row + r" \\"


def as_html(table: comparison.Layout, notes: Iterable[str]) -> str:
    """Write a table in HTML for pages of any style and for notebooks, with the notes as a list below it."""
    spans = list[int]()
    for line in table.lines:
        if line.cells[0]:
            spans.append(0)
        spans[-1] += 1  # the name is the header of the nameless lines below too
    template = page_environment("benchrunner_report").get_template("table.html")
    return template.render(table=table, notes=list(notes), spans=spans).rstrip()
