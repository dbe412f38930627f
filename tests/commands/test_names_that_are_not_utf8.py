"""Files, folders and names that are not UTF-8: they are used, or refused with one sentence."""

import os
import shutil
from pathlib import Path

import pytest

from command_line import Shell

NAME = os.fsdecode(b"n\xff\xe9m")
"""A file name as Python gives it whose bytes are not UTF-8."""
SHOWN = r"n\udcff\udce9m"


WITHOUT_RUNS = ("check", "list", NAME)
"""Commands that have no runs folder."""
CASES = [
    ("compare words --tasks mood --data NAME --quiet --device cpu", 0, "mood"),
    ("predict FIT table.NAME --out NAME.tsv", 0, ""),
    ("predict FIT --split dev --data NAME --out NAME.tsv", 0, ""),
    ("report first --out NAME.html", 0, ""),
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
