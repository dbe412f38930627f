"""Runs the cases of the table, and counts those that end badly: `python -m bad_plugins [PATTERN OF NAMES]`."""

import re
import sys
import tempfile
from pathlib import Path

from bad_plugins.forks import complaint, preload
from bad_plugins.table import cases


def main(pattern: str = "") -> None:
    """Run the cases whose names match a pattern, and count those that end badly."""
    preload()
    table, bad = [case for case in cases() if re.search(pattern, case.name)], 0
    for case in table:
        with tempfile.TemporaryDirectory() as home:
            if text := complaint(case, Path(home)):
                bad += 1
                print(f"{case.name}: {text[:500]}", flush=True)
    print(f"{len(table)} cases, {bad} ended badly")


if __name__ == "__main__":
    main(*sys.argv[1:])
