"""Files, folders and names that are not UTF-8: they are used, or refused with one sentence."""

import os
import shutil
from pathlib import Path

import pytest

from command_line import Shell

NAME = os.fsdecode(b"n\xff\xe9m")
"""A file name as Python gives it whose bytes are not UTF-8."""
SHOWN = r"n\udcff\udce9m"
REFUSED = "this path is not UTF-8, and the libraries that read models refuse such paths. Choose a folder"


WITHOUT_RUNS = ("check", "list", NAME)
"""Commands that have no runs folder."""
CASES = [
    ("compare words --tasks mood --data NAME --quiet --device cpu", 0, "mood"),
    ("predict FIT table.NAME --out NAME.tsv", 0, ""),
    ("predict FIT --split dev --data NAME --out NAME.tsv", 0, ""),
    ("report first --out NAME.html", 0, ""),
    ("run mood --backbone words --quiet --device cpu --runs NAME", 2, REFUSED),
    ("runs list --runs NAME", 2, REFUSED),
    ("run mood --data data --backbone ./NAME", 2, REFUSED),
    ("runs export FIT NAME", 2, REFUSED),
    ("share first --data data --out other.NAME", 0, ""),
    ("run NAME --backbone words", 2, f"'{SHOWN}' is no task but a backbone"),
    ("compare words --tasks mood --name NAME", 2, SHOWN),
    ("compare --study NAME.toml", 2, f"{SHOWN}.toml"),
    ("compare --study missing.NAME", 2, f"missing.{SHOWN}"),
    ("check NAME.zip", 2, f"{SHOWN}.zip"),
    ("report NAME", 2, SHOWN),
    ("runs show NAME", 2, SHOWN),
    ("predict NAME table.NAME", 2, SHOWN),
    ("list NAME", 2, SHOWN),
    ("NAME", 2, SHOWN),
]


@pytest.mark.parametrize(("line", "code", "told"), CASES, ids=[line for line, _, _ in CASES])
def test_a_name_that_is_not_utf8_is_used_or_refused(
    line: str, code: int, told: str, finished: tuple[Path, str], shell: Shell, tmp_path: Path
) -> None:
    folder, fit = finished
    shutil.copytree(folder / "runs", tmp_path / "runs")
    shutil.copytree(folder / "data", tmp_path / NAME)
    for name in (f"table.{NAME}", f"{NAME}.toml"):
        Path(name).write_text("text\nsuch fun\n", encoding="utf-8")
    words = [word.replace("NAME", NAME).replace("FIT", fit) for word in line.split()]
    found, out, err = shell(*words, *([] if "--runs" in words or words[0] in WITHOUT_RUNS else ["--runs", "runs"]))
    assert (found, "codec" in err, "unexpected error" in err) == (code, False, False), err
    assert told in out + err
    assert len(err.splitlines()) == 1 or code == 0 or "See '" in err


def test_variables_that_are_not_utf8_are_told(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHRUNNER_CACHE", f"/tmp/{NAME}")
    assert shell("runs", "list")[::2] == (
        2,
        f"benchrunner: /tmp/{SHOWN}: {REFUSED} with another name, or rename the folder.\n",
    )
