"""Study files are a plugin's: without the plugin, and with another one that reads files of its own."""

import pytest

from benchrunner.command_line.main import main
from benchrunner.results import Plugins, discover


def test_without_a_reader_of_studies_the_error_names_one(capsys: pytest.CaptureFixture[str]) -> None:
    plugins: Plugins = discover(installed=False)
    assert main(["compare", "--study", "mine.toml"], plugins=plugins) == 2
    said = "No plugin reads the study mine.toml: the plugin 'studies' reads .toml files."
    assert capsys.readouterr().err == f"benchrunner: {said}\n"
