"""Whatever a plugin does, each command ends in its exit code and one sentence that names the culprit."""

from pathlib import Path

import pytest

import forked
from bad_plugins.case import Case
from bad_plugins.forks import complaint, preload
from bad_plugins.table import cases, few_cases


@pytest.fixture(scope="module", autouse=True)
def imported() -> None:
    """Import what the forks of all cases need, once."""
    preload()


@pytest.mark.parametrize("case", few_cases(), ids=lambda case: case.name)
def test_bad_plugins_stop_nothing(case: Case, tmp_path: Path) -> None:
    assert complaint(case, tmp_path) == ""


@pytest.mark.slow
@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_no_plugin_of_the_table_stops_anything(case: Case, tmp_path: Path) -> None:
    assert complaint(case, tmp_path) == ""


def test_the_table_has_the_kinds_of_the_attack() -> None:
    names = [case.name for case in cases()]
    assert len(set(names)) == len(names) >= 250


ENDLESS = """
import atexit, threading
from benchrunner.plugins.loading import Loading, end_beside_threads

atexit.register(print, "what ends with the process")
end_beside_threads(6)  # no thread of a plugin: Python may end the process itself
with Loading() as loading, loading.plugin("endless"):
    threading.Thread(target=threading.Event().wait).start()
end_beside_threads(7)
"""


def test_a_thread_without_an_end_leaves_the_end_of_a_process() -> None:
    ended = forked.run(["-c", ENDLESS], timeout=60)
    assert (ended.returncode, ended.stdout) == (7, "what ends with the process\n"), ended.stderr
