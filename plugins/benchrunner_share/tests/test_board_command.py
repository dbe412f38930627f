"""The command `board build`, as a user types it, and its site in a browser."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from board_folders import Folders
from test_board import build

import browsers
from command_line import Shell


def test_a_board_is_built_and_refusals_are_listed(shared: Shell) -> None:
    shell = shared
    shutil.copytree("out", "results/first")
    data = ("--data", str(shell.folder / "data"))
    out = shell.done("board", "build", "results", "--out", "site", *data)
    assert out.startswith("site holds a board of 1 system on 1 task, in ") and "1 folder verified, 0 refused." in out
    shutil.copytree("results/first", "results/second")
    (shell.folder / "results" / "second" / "note.txt").write_text("")
    out = shell.done("board", "build", "results", "--out", "site", *data)
    assert out.startswith("Refused second: 'note.txt' is no file that 'benchrunner share' writes")
    code, out, _ = shell("board", "build", "results", "--out", "site", "--strict", "--json", *data)
    built = json.loads(out)
    assert (code, built["accepted"], [folder["name"] for folder in built["refused"]]) == (1, 1, ["second"])
    missing = shell.refused("board", "build", "results", "--out", "new", "--data", "results")
    assert "every folder was refused" in missing and "there is no copy of the data here" in missing
    assert "there is no such folder" in shell.refused("board", "build", "nowhere", "--out", "new")
    assert "ACTION" in shell.refused("board")


def test_the_table_is_filtered_in_a_browser(folders: Folders, tmp_path: Path) -> None:
    build(folders, folders.results, tmp_path / "site")
    values = browsers.answers_of(
        tmp_path / "site" / "index.html",
        tmp_path,
        """
        const shown = () => [...document.querySelectorAll("#ranked tbody")].filter((body) => !body.hidden).length;
        const query = document.getElementById("query"), before = shown();
        query.value = "poor"; query.dispatchEvent(new Event("input"));
        const filtered = shown();
        query.value = ""; query.dispatchEvent(new Event("input"));
        const best = document.getElementById("best"), options = best.options.length;
        return {
          before, filtered, options, count: document.getElementById("count").textContent,
          width: document.documentElement.scrollWidth - innerWidth, bold: document.querySelectorAll("b").length,
        };
        """,
    )
    assert (values["before"], values["filtered"], values["count"], values["bold"]) == (3, 1, "", 0)
    assert values["width"] <= 0, "the page is wider than the window"
    for page in sorted((tmp_path / "site").rglob("*.html")):
        if page.name in ("index.html", "made--pairs.html", "refused.html"):
            assert browsers.opened(page, tmp_path).console == []
