"""Whatever a plugin does, each command ends in its exit code and one sentence that names the culprit."""

from pathlib import Path

import pytest

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
