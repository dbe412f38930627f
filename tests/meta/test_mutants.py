"""Mutants are changes that a test should notice, and a draw is repeatable."""

from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
SOURCE = '''
"""Module."""
import os
LIMIT = 3

@final
class Shop:
    name: str = "corner"

    def __repr__(self) -> str:
        return "shop" + "!"

    def prices(self, wanted: list[str], lock: Lock) -> list[int]:
        """Return prices."""
        with lock:
            if not wanted and self.name != "a":
                raise ValueError(f"{1 + 1} wanted")
            found = [self.price(name, taxed=True, encoding="utf-8") for name in wanted if name]
        self.sort(found)
        return found
'''
EXPECTED = {
    "\"corner\" -> ('cornerX')",
    "lock -> __import__('contextlib').nullcontext()",
    'not wanted and self.name != "a" -> True',
    'not wanted and self.name != "a" -> False',
    "not wanted and self.name != \"a\" -> (not wanted or self.name != 'a')",
    "not wanted -> (wanted)",
    "self.name != \"a\" -> (self.name == 'a')",
    "\"a\" -> ('aX')",
    'raise ValueError(f"{1 + 1} wanted") -> pass',
    "True -> (False)",
    "self.sort(found) -> pass",
    "return found -> return None",
}


def test_mutants_change_what_runs_and_not_what_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    from mutants import drawn

    (tmp_path / "shop.py").write_text(SOURCE)
    changes = set[str]()
    for seed in range(200):
        for mutant in drawn(tmp_path, ["shop.py"], 100, seed):
            changes.add(mutant.id.partition(" | ")[2])
            compile(mutant.source(tmp_path), "shop.py", "exec")
    short = {change for change in changes if "self.price(" not in change}
    assert short == EXPECTED
    assert len(changes - short) == 3  # the argument is left out, or the filter lets everything or nothing through
    assert drawn(tmp_path, ["shop.py"], 3, 1) == drawn(tmp_path, ["shop.py"], 100, 1)[:3]
