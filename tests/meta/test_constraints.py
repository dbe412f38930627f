"""constraints.txt fixes the version of every package that the README's commands install, on any machine."""

import importlib.metadata
import re

import pytest
from packaging.requirements import Requirement

from distributions import DISTRIBUTIONS, ROOT, normalized, project

GPU_LIBRARIES = ("nvidia-", "triton", "cuda-")
"""How the names of the packages begin that only a GPU build of torch needs."""


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pairs = [line.split("==") for line in lines if line and not line.startswith("#")]
    return {normalized(name): version for name, version in pairs}


def needed() -> set[str]:
    """List every package that our distributions need on this machine, directly or not, with all extras but `docs`."""
    queue: list[tuple[str, str]] = []
    for home in DISTRIBUTIONS:
        extras = {
            name: texts for name, texts in project(home).get("optional-dependencies", {}).items() if name != "docs"
        }
        queue += [(text, "") for group in (project(home)["dependencies"], *extras.values()) for text in group]
    ours = {project(home)["name"] for home in DISTRIBUTIONS}
    visited: set[tuple[str, str]] = set()
    while queue:
        text, extra = queue.pop()
        requirement = Requirement(text)
        name = normalized(requirement.name)
        if name in ours or (requirement.marker is not None and not requirement.marker.evaluate({"extra": extra})):
            continue
        for wanted in ("", *requirement.extras):
            if (name, wanted) not in visited:
                visited.add((name, wanted))
                queue += [(line, wanted) for line in importlib.metadata.requires(name) or ()]
    return {name for name, _ in visited}


def test_every_needed_package_is_pinned() -> None:
    """Only the libraries of a GPU build of torch are not: torch itself fixes their versions."""
    try:
        missing = needed() - pins().keys()
    except importlib.metadata.PackageNotFoundError as error:
        pytest.skip(f"not installed with the dev extra: {error}")
    assert {name for name in missing if not name.startswith(GPU_LIBRARIES)} == set()


def test_no_line_names_a_place_or_a_build() -> None:
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines():
        assert line.startswith("#") or re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][A-Za-z0-9.]*", line), line
    assert not [name for name in pins() if name.startswith((*GPU_LIBRARIES, "benchrunner"))]


def test_torch_is_pinned_whatever_its_build() -> None:
    assert pins()["torch"] == "2.13.0"
