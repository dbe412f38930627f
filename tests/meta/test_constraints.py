"""The constraints pin all that an installation from the README brings, and nothing that ties them to one machine."""

from __future__ import annotations

import importlib.metadata
import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return {plain(one.split("==")[0]): one.split("==")[1] for one in lines if one and not one.startswith("#")}


def needed() -> set[str]:
    """Everything that our distributions ask for, directly or not, extras included, on this machine."""
    asked: list[tuple[str, str]] = []
    ours = set()
    for file in (ROOT / "pyproject.toml", *ROOT.glob("plugins/*/pyproject.toml"), ROOT / "leaderboards/pyproject.toml"):
        project = tomllib.loads(file.read_text(encoding="utf-8"))["project"]
        ours.add(plain(project["name"]))
        extras = project.get("optional-dependencies", {}).values()
        asked += [(one, "") for group in (project["dependencies"], *extras) for one in group]
    found: set[tuple[str, str]] = set()
    while asked:
        text, extra = asked.pop()
        wanted = Requirement(text)
        if wanted.marker is not None and not wanted.marker.evaluate({"extra": extra}):
            continue
        for one in ("", *wanted.extras):
            if (plain(wanted.name), one) not in found and plain(wanted.name) not in ours:
                found.add((plain(wanted.name), one))
                asked += [(line, one) for line in importlib.metadata.requires(wanted.name) or ()]
    return {name for name, _ in found}


def test_everything_needed_is_pinned_but_what_a_gpu_build_of_torch_brings() -> None:
    try:
        missing = needed() - pins().keys()
    except importlib.metadata.PackageNotFoundError as error:
        pytest.skip(f"not installed with the dev extra: {error}")
    assert {one for one in missing if not one.startswith(("nvidia-", "triton", "cuda-"))} == set()


def test_no_line_names_a_place_or_a_build() -> None:
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines():
        assert line.startswith("#") or re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][A-Za-z0-9.]*", line), line
    assert not [name for name in pins() if name.startswith(("nvidia-", "triton", "benchrunner"))]


def test_torch_is_pinned_whatever_its_build() -> None:
    assert pins()["torch"] == "2.13.0"
