"""Commands work without standard output, as after `>&-`, and without standard error."""

from __future__ import annotations

import sys

import pytest

from benchrunner.command_line.main import main
from benchrunner.results import discover


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
@pytest.mark.parametrize("words", [["list"], ["list", "recipes"], ["list", "--json"]])
def test_a_closed_stream_is_no_error(words: list[str], stream: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, stream, None)
    assert main(words, plugins=discover(installed=False)) == 0
