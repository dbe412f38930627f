"""The tests between lists of answers need neither torch nor Arrow."""

import subprocess
import sys

CODE = """
import sys
from benchrunner_statistics import paired_test

gold = ["yes", "no", "yes", "no"]
assert paired_test("accuracy", gold, [gold], [gold[::-1]]).difference == 1.0
print([name for name in ("torch", "pyarrow", "pandas") if name in sys.modules])
"""


def test_lists_are_compared_without_torch_and_arrow() -> None:
    assert subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True).stdout == "[]\n"
