"""A board: which folders it takes, that its figures are those of `compare`, and what its site holds."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from board_folders import SECRET, SKILLS, TASKS, Folders, share
from shared_folders import SharedFolder

from benchrunner import RequestError
from benchrunner.results import comparison
from benchrunner_share.board.building import Built, Wishes, build_board
from benchrunner_share.board.joining import entries_of, tasks_of
from benchrunner_share.board.receiving import Accepted, received
from benchrunner_share.private_texts import Private
from benchrunner_share.verifying.data_checks import own_runners
from benchrunner_share.verifying.verify import verified_study


def build(folders: Folders, results: Path, site: Path, **wishes: Any) -> Built:
    """Build the site of a board."""
    made = folders.runner
    return build_board(results, site, made.plugins, made.workspace, wishes=Wishes(**wishes))


@pytest.fixture(scope="module")
def site(folders: Folders, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site of all three systems."""
    path = tmp_path_factory.mktemp("site") / "site"
    assert not build(folders, folders.results, path, title="Small <i>encoders</i>").refused
    return path


def copied(folders: Folders, tmp_path: Path) -> Path:
    """Copy the shared folders, for a test that changes them."""
    return Path(shutil.copytree(folders.results, tmp_path / "results"))


def test_figures_and_verdict_are_those_of_compare(folders: Folders, site: Path) -> None:
    board = json.loads((site / "board.json").read_text())
    reference = comparison.as_json(folders.together)
    assert board["mean_ranks"] == reference["mean_ranks"]
    assert board["conclusion"] == reference["conclusion"]
    headlines = {"made/pairs accuracy", "made/numbers pearson"}
    wanted = {
        (figure["system"], figure["column"]): (figure["mean"], figure["interval_over_examples"], figure["ranks"])
        for figure in reference["figures"]
        if figure["column"] in headlines
    }
    found = {}
    for figure in board["figures"]:
        found[figure["system"], figure["column"]] = (figure["mean"], figure["interval_over_examples"], figure["ranks"])
    assert found == wanted


def test_forged_folders_are_refused_with_the_reason(folders: Folders, tmp_path: Path) -> None:
    results = copied(folders, tmp_path)
    forged = SharedFolder(results / "folder-1", folders.runner)
    forged.edit("study.json", lambda study: study["result"]["cells"][0]["scores"][0].update(mean=0.999))
    forged.deceive()
    built = build(folders, results, tmp_path / "site")
    assert [folder.name for folder in built.refused] == ["folder-1"]
    assert """'      "mean": 0.999,' stands there""" in built.refused[0].reason
    assert (built.systems, built.accepted) == (2, 2)
    assert "0.999" in (tmp_path / "site" / "refused.html").read_text()


def test_hostile_folders_are_refused_and_stop_nothing(folders: Folders, tmp_path: Path) -> None:
    results = copied(folders, tmp_path)
    (results / "a link").symlink_to(folders.results / "folder-0")
    (results / "empty").mkdir()
    (results / "<script>alert(1)<b>").mkdir()
    (results / "bad\x1b[31m\u202ename").mkdir()
    (results / "README.md").write_text("passed over")
    nested = results / "nested"
    nested.mkdir()
    (nested / "study.json").write_text("[" * 100_000)
    other = results / "other kind"
    other.mkdir()
    (other / "study.json").write_text('{"format": 1}')
    large = shutil.copytree(results / "folder-0", results / "large")
    os.truncate(large / "manifest.json", 2**40)
    outside = shutil.copytree(results / "folder-0", results / "outside")
    (outside / "fits").rename(tmp_path / "fits")
    (outside / "fits").symlink_to(tmp_path / "fits")
    built = build(folders, results, tmp_path / "site")
    reasons = {folder.name: folder.reason for folder in built.refused}
    assert (built.accepted, len(reasons)) == (3, 8), reasons
    assert reasons["a link"] == "it is a symbolic link, which is not followed."
    assert "is missing" in reasons["empty"] and reasons["large"].startswith("has more than 2 GiB")
    assert "symbolic link" in reasons["outside"] or "missing" in reasons["outside"]
    assert "\\x1b[31m\\u202e" in next(name for name in reasons if name.startswith("bad"))
    assert str(tmp_path) not in (tmp_path / "site" / "refused.html").read_text()
    assert "<script>alert" not in (tmp_path / "site" / "refused.html").read_text()


@pytest.mark.parametrize(
    ("limit", "reason"), [("LONGEST_NAME", "give a shorter one"), ("MOST_SYSTEMS", "has 1 systems")]
)
def test_names_and_systems_of_a_folder_are_limited(
    limit: str, reason: str, folders: Folders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"benchrunner_share.board.receiving.{limit}", 0)
    with pytest.raises(RequestError, match=reason):
        build(folders, folders.results, tmp_path / "site")


def test_a_folder_cannot_name_a_file_of_its_own_as_a_task(folders: Folders, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("not read")
    shared = SharedFolder(folders.results / "folder-1", folders.runner).copy(tmp_path / "folder")
    text = (shared.path / "study.json").read_text().replace("made/pairs", str(file))
    (shared.path / "study.json").write_text(text)
    with own_runners(folders.runner.plugins, folders.runner.workspace, ()) as runners:
        assert not runners.may_find(str(file)) and not runners.may_find("made/pairs@../mine.toml")
        assert runners.may_find("made/pairs") and runners.may_find("made/pairs@5x3")
        [reason] = verified_study(shared.path, runners).verification.unverified
    assert reason.startswith("There is no task") and reason.endswith("Name your own task file in --tasks of board.")


class Page(HTMLParser):
    """The links, the elements and the texts of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.elements: list[str] = []
        self.handlers: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        for name, value in attributes:
            if name in ("href", "src"):
                self.links.append(value or "")
            if name.startswith("on") or (value or "").startswith("javascript:"):
                self.handlers.append(name)


def test_every_link_leads_to_a_file_of_the_site(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) == 2 + len(SKILLS) + len(TASKS)
    for page in pages:
        for link in Page(page).links:
            if link != "data:,":
                target, _, _ = link.partition("#")
                assert not target or (page.parent / unquote(target)).is_file(), f"{page.name}: {link}"


def test_names_with_html_are_texts_and_only_our_script_is_there(site: Path) -> None:
    for path in site.rglob("*.html"):
        page = Page(path)
        assert page.elements.count("script") == 1 and not page.handlers
        assert not {"b", "i", "iframe", "img", "object"} & set(page.elements)
    assert "Small &lt;i&gt;encoders&lt;/i&gt;" in (site / "index.html").read_text()
    assert "lab/&lt;b&gt;fair&lt;/b&gt;" in (site / "index.html").read_text()


def test_texts_and_gold_stay_with_the_owner_unless_asked(folders: Folders, site: Path, tmp_path: Path) -> None:
    assert not [path for path in site.rglob("*") if path.is_file() and SECRET in path.read_text()]
    page = (site / "tasks" / "made--pairs.html").read_text()
    assert "Texts and gold answers stay with the owner" in page and "gold</dt>" not in page
    build(folders, folders.results, tmp_path / "site", with_rows=True)
    page = (tmp_path / "site" / "tasks" / "made--pairs.html").read_text()
    assert SECRET in page and "gold</dt>" in page


def test_systems_without_all_tasks_are_shown_and_not_ranked(folders: Folders, tmp_path: Path) -> None:
    results = copied(folders, tmp_path)
    shutil.rmtree(results / "folder-2")
    share("lab/poor", TASKS[:1], folders.runner, results / "folder-2")
    built = build(folders, results, tmp_path / "site")
    board = json.loads((tmp_path / "site" / "board.json").read_text())
    assert (built.systems, built.tasks) == (3, 2)
    assert [system["name"] for system in board["systems"]] == ["lab/good", "lab/<b>fair</b>"]
    assert [system["name"] for system in board["partial"]["systems"]] == ["lab/poor"]
    assert "Not ranked" in (tmp_path / "site" / "index.html").read_text()


def test_equal_names_are_told_apart_by_their_folders(folders: Folders, tmp_path: Path) -> None:
    results = copied(folders, tmp_path)
    shutil.copytree(results / "folder-0", results / "folder-9")
    with own_runners(folders.runner.plugins, folders.runner.workspace) as runners:
        private = Private(folders.runner.workspace)
        accepted = [folder for folder in received(results, runners, private) if isinstance(folder, Accepted)]
    names = [entry.name for entry in entries_of(accepted)]
    assert names == ["lab/good (folder-0)", "lab/<b>fair</b>", "lab/poor", "lab/good (folder-9)"]


def test_one_backbone_of_two_senders_is_two_systems(folders: Folders, tmp_path: Path) -> None:
    results = copied(folders, tmp_path)
    shutil.copytree(results / "folder-0", results / "folder-9")
    built = build(folders, results, tmp_path / "site")
    assert (built.systems, built.accepted, built.refused) == (4, 4, ())
    page = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert "lab/good (folder-0)" in page and "lab/good (folder-9)" in page


def test_equal_folders_give_equal_bytes(folders: Folders, site: Path, tmp_path: Path) -> None:
    build(folders, folders.results, tmp_path / "site", title="Small <i>encoders</i>")
    files = [path.relative_to(site) for path in site.rglob("*") if path.is_file()]
    assert [file for file in files if (site / file).read_bytes() != (tmp_path / "site" / file).read_bytes()] == []


def test_metadata_is_that_of_the_shared_folders(folders: Folders, site: Path) -> None:
    for path in (folders.results / "folder-0").rglob("*"):
        name = path.relative_to(folders.results)
        if path.is_file() and name.parts[1] in ("hub", "every_eval_ever"):
            assert (site / "metadata" / name).read_bytes() == path.read_bytes()
    assert list((site / "metadata").rglob("*.json"))


def test_wrong_wishes_say_what_to_do(folders: Folders, tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="system"):
        build(folders, folders.results, tmp_path / "site", against="lab/goood")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("")
    with pytest.raises(RequestError, match="has other files"):
        build(folders, folders.results, tmp_path / "mine")
    (tmp_path / "none").mkdir()
    with pytest.raises(RequestError, match="holds no folders"):
        build(folders, tmp_path / "none", tmp_path / "site")
    assert not (tmp_path / "site").exists()


def test_a_reference_is_what_all_others_are_compared_with(folders: Folders, tmp_path: Path) -> None:
    build(folders, folders.results, tmp_path / "site", against="lab/poor")
    tests = json.loads((tmp_path / "site" / "board.json").read_text())["comparisons"]
    assert {test["with"] for test in tests} == {"lab/poor"} and len(tests) == 4


def change_every_fit(folder: SharedFolder, change: Callable[[Any], object]) -> None:
    for path in (folder.path / "fits").iterdir():
        folder.edit(f"fits/{path.name}", change)


def texts_for_numbers(folder: SharedFolder) -> None:
    """Spell the numbers that a system answers as texts."""
    of_fits = folder.read("study.json")["predictions"].values()
    for prediction in [of_fit["made/numbers"]["dev"] for of_fit in of_fits if "made/numbers" in of_fit]:
        path = folder.path / f"predictions/{prediction}.answers.jsonl"
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        path.write_text("".join(json.dumps({**line, "answer": str(line["answer"])}) + "\n" for line in lines))


STOPPING: dict[str, Callable[[SharedFolder], object]] = {
    "a number of 400 digits": lambda folder: change_every_fit(
        folder, lambda fit: fit["timings"].update(seconds=10**400)
    ),
    "seconds whose sum is infinite": lambda folder: change_every_fit(
        folder, lambda fit: fit["timings"].update(seconds=1e308)
    ),
    "texts as answers": texts_for_numbers,
}


@pytest.mark.parametrize("name", STOPPING)
def test_one_folder_stops_no_board(name: str, folders: Folders, tmp_path: Path) -> None:
    results = copied(folders, tmp_path)
    forged = SharedFolder(results / "folder-1", folders.runner)
    STOPPING[name](forged)
    forged.deceive()
    built = build(folders, results, tmp_path / "site")
    assert ([folder.name for folder in built.refused], built.accepted) == (["folder-1"], 2)


@pytest.mark.parametrize(
    ("place", "error"),
    [
        ("joining.Entry.seconds", OverflowError("too large")),
        ("pages.Pages.system", KeyError("x")),
    ],
)
def test_whatever_a_folder_raises_it_alone_is_refused(
    place: str, error: Exception, folders: Folders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def raising(*given: Any) -> Any:
        folders = [each if isinstance(each, Accepted) else getattr(each, "folder", None) for each in given]
        if "folder-1" in [folder.name for folder in folders if folder is not None]:
            raise error
        return 1.0 if place.endswith("seconds") else "page"

    replacement = property(raising) if place.endswith("seconds") else raising
    monkeypatch.setattr(f"benchrunner_share.board.{place}", replacement)
    built = build(folders, folders.results, tmp_path / "site")
    assert ([folder.name for folder in built.refused], built.accepted) == (["folder-1"], 2)
    assert type(error).__name__ in built.refused[0].reason
    assert built.refused[0].reason.startswith("no page can be made of it: ")


def test_one_folder_of_many_systems_changes_no_tasks(folders: Folders, tmp_path: Path) -> None:
    made = folders.runner
    with own_runners(made.plugins, made.workspace) as runners:
        accepted = list(received(folders.results, runners, Private(made.workspace)))
    entries = entries_of([folder for folder in accepted if isinstance(folder, Accepted)])
    tasks = list(made.plugins.tasks)
    many = [replace(entries[0], name=f"system {number}", cells=entries[0].cells[:1]) for number in range(20)]
    assert [task.name for task in tasks_of([*entries, *many], (), tasks)] == ["made/numbers", "made/pairs"]


def test_a_system_called_as_one_of_another_folder_stops_nothing(folders: Folders, tmp_path: Path) -> None:
    results = copied(folders, tmp_path)
    for folder in ("folder-8", "folder-9"):
        shutil.copytree(results / "folder-0", results / folder)
    forged = SharedFolder(results / "folder-1", folders.runner)
    for path in (forged.path / "study.json", *(forged.path / "fits").iterdir()):
        path.write_text(path.read_text().replace('"lab/<b>fair</b>"', '"lab/good (folder-9)"'))
    shutil.rmtree(forged.path / "every_eval_ever", ignore_errors=True)
    shutil.rmtree(forged.path / "hub", ignore_errors=True)
    forged.deceive()
    built = build(folders, results, tmp_path / "site")
    assert (built.systems, built.refused) == (5, ())
    page = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert "lab/good (folder-9) (folder-1)" in page or "lab/good (folder-9) (folder-9)" in page
