"""The site of the documentation: it has all pages and public names, and each of its links leads somewhere."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import benchrunner
import benchrunner.engine
import benchrunner.results
import benchrunner_checkpoints
import benchrunner_clusters
import benchrunner_kinds
import benchrunner_kit.testing
import benchrunner_statistics
import benchrunner_submit
import benchrunner_tasks
from distributions import ROOT
from site_pages import PAGES, PLUGINS, REFERENCES, drawn, on_page_markdown, reference


def test_the_navigation_has_every_page_once() -> None:
    named = re.findall(r"^ +- (?:\w+: )?([\w/]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    written = {page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")}
    made = {page for page in PAGES.values() if not page.startswith("plugin/")}
    assert sorted(named) == sorted(written | made | {f"api/{name}.md" for name in REFERENCES})
    assert len(PLUGINS) > 25


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("benchrunner", benchrunner.__all__),
        ("engine", benchrunner.engine.__all__),
        ("results", benchrunner.results.__all__),
        ("kinds", benchrunner_kinds.__all__),
        ("tasks", benchrunner_tasks.__all__),
        ("checkpoints", benchrunner_checkpoints.__all__),
        ("clusters", benchrunner_clusters.__all__),
        ("statistics", benchrunner_statistics.__all__),
        ("submit", benchrunner_submit.__all__),
        ("testing", benchrunner_kit.testing.__all__),
    ],
)
def test_the_references_have_every_public_name(page: str, names: list[str]) -> None:
    text = reference(page, REFERENCES[page])
    documented = re.findall(r"^::: [\w.]+\.(\w+)$", text, re.MULTILINE)
    assert sorted(documented) == sorted(set(names) - {"__version__"})


class Page:
    """A page of the site, as far as links know it."""

    def __init__(self, name: str) -> None:
        self.file = self
        self.src_uri = name


def test_links_of_the_repository_lead_into_the_site() -> None:
    readme = on_page_markdown(
        "Read `docs/compare.md`, `LICENSE.md`.\n\n```sh\ncat `docs/compare.md`\n```\n", Page("index.md")
    )
    assert readme == "Read [`docs/compare.md`](compare.md), `LICENSE.md`.\n\n```sh\ncat `docs/compare.md`\n```\n"
    page = on_page_markdown(
        "[a](../plugins/benchrunner_conll/README.md#data) [b](#b) [c](names.md)", Page("plugins/sources.md")
    )
    assert page.endswith("[b](#b) [c](names.md)")
    page = on_page_markdown("[a](../plugins/benchrunner_conll/README.md#data)", Page("results.md"))
    assert page == "[a](plugin/conll.md#data)"
    page = on_page_markdown(
        "[x](https://benchrunner.github.io/benchrunner/reference/names.html)", Page("plugin/kit.md")
    )
    assert page == "[x](../reference/names.md)"


def test_a_drawing_becomes_a_table() -> None:
    drawing = re.search(r"(a.*)", 'a["A, B"] --> b\n    b --> c\n    b --> d\n', re.DOTALL)
    assert drawing is not None
    assert drawn(drawing).splitlines()[2:] == ["| A, B | b |", "| b | c, d |"]


class Links(HTMLParser):
    """What a page of the site links to, what it loads, and the places in it."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.aims: list[str] = []
        self.loaded: list[str] = []
        self.places: set[str] = set()
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.places |= {values.get("id", ""), values.get("name", "")}
        address = values.get("href", values.get("src", ""))
        if tag == "a":
            self.aims.append(address)
        elif tag in ("script", "img", "iframe") or values.get("rel") in ("stylesheet", "icon"):
            self.loaded.append(address)


@pytest.mark.slow
def test_every_link_of_the_site_leads_somewhere(tmp_path: Path) -> None:
    """Nothing is loaded from another server, so the site works from disk, without a network."""
    pytest.importorskip("mkdocs", reason="the extra 'docs' brings it")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    pages = {file: Links(file) for file in tmp_path.rglob("*.html")}
    assert len(pages) >= 70
    for file, links in pages.items():
        for address in (*links.aims, *links.loaded):
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                assert address not in links.loaded, f"{file}: {address}"
                continue
            base = tmp_path if parts.path.startswith("/") else file.parent
            place = unquote(parts.path).removeprefix("/benchrunner/").removeprefix("/")
            aim = (base / place).resolve() if place else file
            assert (aim / "index.html" if aim.is_dir() else aim).is_file(), f"{file}: {address}"
            if parts.fragment and aim in pages:
                assert unquote(parts.fragment) in pages[aim].places, f"{file}: {address}"
