"""The documentation is true: its generated parts are new, its links lead somewhere, its commands are understood."""

import pkgutil
import re
import shlex
from pathlib import Path

import pytest

import benchrunner.engine
import benchrunner.results
from benchrunner.command_line.main import parser
from benchrunner.errors import RequestError
from benchrunner.plugins.discovery import discover
from benchrunner_studies.reading import read_study_file
from distributions import PLUGINS, ROOT, home, project
from documents import blocks, named_files, prose, shown_commands
from generated_docs import PART, PARTS, commands, documentation, generated, origin, pages

INSIDE_ONLY = (
    *(ROOT / "docs").rglob("*.md"),
    *(ROOT / name for name in ("AGENTS.md", "CHANGELOG.md", "CONTRIBUTING.md", "README.md", "llms.txt")),
)
"""Pages whose links may be relative; those of the read-mes of plugins, which are read alone, may not."""


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_generated_parts_are_new(page: Path) -> None:
    for kind, text, wanted in generated(page):
        assert text == wanted, f"the part '{kind}' is old: run python tests/support/generated_docs.py"


def test_every_generator_is_used_once() -> None:
    kinds = [match[2] for page in pages() for match in PART.finditer(page.read_text(encoding="utf-8"))]
    assert sorted(kinds) == sorted(PARTS)


@pytest.mark.parametrize("plugin", PLUGINS, ids=lambda plugin: plugin.name)
def test_a_read_me_needs_no_checkout(plugin: Path) -> None:
    """It is also a page of the site, where there are no other files of the repository."""
    text = (home(plugin) / "README.md").read_text(encoding="utf-8")
    assert not re.findall(r"pip install -[er].*|in a checkout.*|`(?:docs|tests|plugins|leaderboards)/.*", text)
    for page in re.findall(rf"{project(ROOT)['urls']['Documentation']}([^)#\s]+)", text):
        assert (ROOT / "docs" / page).with_suffix(".md").is_file() and page.endswith(".html"), page


def test_every_public_name_is_documented() -> None:
    for public in (benchrunner, benchrunner.engine):
        for name in public.__all__:
            assert documentation(origin(public.__name__, name), name), f"{public.__name__}.{name}"


def anchors(page: Path) -> set[str]:
    titles = re.findall(
        r"^#+ (.*)$", re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S), re.M
    )
    return {re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        target, _, anchor = link.partition("#")
        if not link.startswith("https://"):
            assert page in INSIDE_ONLY, (
                f"{link}: write the path as text, the page is also shown outside of the repository"
            )
            aim = page.parent / target if target else page
            assert aim.exists(), link
            assert not anchor or anchor in anchors(aim), link


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_every_named_file_of_the_repository_exists(page: Path) -> None:
    for name in named_files(page):
        assert any(list(folder.glob(name)) for folder in {ROOT, page.parent}), name


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_every_python_name_of_ours_exists(page: Path) -> None:
    for name in re.findall(r"`(benchrunner(?:_[a-z]+)?(?:\.\w+)+)`", prose(page)):
        pkgutil.resolve_name(name)  # a name that does not exist is an error


def test_every_command_shown_is_understood() -> None:
    known = parser(discover())
    shown = [line for page in pages() for line in shown_commands(page)]
    assert len(shown) >= 30
    for line in shown:
        if not line.endswith("--help"):
            known.parse_args(shlex.split(line, comments=True)[1:])  # a mistake exits with its message


def test_a_page_names_a_function_for_every_command() -> None:
    part = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`.*?) \| (`.*?) \|$", part, re.MULTILINE)
    shown = {name for names, _ in rows for name in re.findall(r"`(\w+)`", names)}
    assert shown == set(re.findall(r"^\| `(\w+)` \|", commands(), re.MULTILINE))
    for name in [name for _, names in rows for name in re.findall(r"`(\w+)`", names)]:
        assert name in benchrunner.results.__all__


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 200


def test_the_studies_shown_are_understood(tmp_path: Path) -> None:
    whole, built, curve, arms = [text for text in blocks("toml", ROOT / "docs" / "studies.md") if "[[system]]" in text]
    path = tmp_path / "study.toml"
    path.write_text(whole, encoding="utf-8")
    study = read_study_file(path, {}).study
    assert [system.backbone for system in study.systems] == ["bert/novels", "bert/random-4/192"]
    path.write_text(curve, encoding="utf-8")
    study = read_study_file(path, {}).study
    assert list(study.lines["bert/novels"]) == [16, 64, 256, None] and len(study.lines) == 2
    path.write_text(built, encoding="utf-8")
    with pytest.raises(RequestError, match="corpus"):
        read_study_file(path, {})
    study = read_study_file(path, {"corpus": "a.txt b.txt", "steps": "200"}).study
    known = parser(discover())
    for system in study.systems:
        for words in system.make:
            known.parse_args(words)
    path.write_text(arms, encoding="utf-8")
    assert [len(systems) for systems in read_study_file(path, {}).study.arms.values()] == [3, 3]
    assert study.systems[1].make[0][:6] == ("pretrain", "2/256", "--corpus", "a.txt", "b.txt", "--vocab-size=2000")


def test_the_example_suites_are_understood(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHRUNNER_CACHE", str(tmp_path))
    monkeypatch.setenv("BENCHRUNNER_TASKS", "")
    plugins = discover()
    for file in (ROOT / "docs" / "suites").glob("*/*.toml"):
        monkeypatch.chdir(file.parent)
        if file.name != "suite.toml":
            assert plugins.tasks.find(file.name).language in ("de", "en")
            continue
        study = read_study_file(file, {"backbones": "one,other"}).study
        assert study.names == ("one", "other") and {column.task for column in study.columns if column.task} == {
            path.name for path in file.parent.glob("*.toml") if path != file
        }


def test_every_plugin_has_a_page() -> None:
    assert {home(plugin) / "README.md" for plugin in PLUGINS} <= set(pages())
