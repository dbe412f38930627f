"""Names of tests say one behaviour in few words."""

import re
from pathlib import Path

from distributions import PLUGINS, ROOT, home

LONGEST = 60
"""Characters of a test's name, `test_` included."""


def names(file: Path) -> list[str]:
    return re.findall(r"^ *def (test_\w+)", file.read_text(encoding="utf-8"), re.MULTILINE)


def test_names_of_tests_are_short() -> None:
    files = [
        file
        for folder in (ROOT / "tests", *(home(plugin) / "tests" for plugin in PLUGINS))
        for file in folder.rglob("test_*.py")
    ]
    every = [(file, name) for file in files for name in names(file)]
    assert len(every) > 900
    assert [f"{file.relative_to(ROOT)}: {name}" for file, name in every if len(name) > LONGEST] == []
