"""The image of containers/ is built with what a checkout has, and its demo works where docker or podman does."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from distributions import ROOT

BUILD = ROOT / "containers" / "build"


def build(*words: str, path: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the script that builds images, with programs of a folder before all others."""
    environment = {**os.environ, "PATH": f"{path}{os.pathsep}{os.environ['PATH']}", **variables}
    return subprocess.run([BUILD, *words], capture_output=True, text=True, env=environment, check=False)


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder with a docker that does not work and a podman that prints what it is asked for."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for name, text in {
        "docker": "exit 1",
        "podman": '[[ $1 == info ]] && exit; echo "$*"; ls "${!#}" "${!#}/dist"',
    }.items():
        (folder / name).write_text(f"#!/bin/bash\n{text}\n")
        (folder / name).chmod(0o755)
    return folder


@pytest.fixture
def archives(tmp_path: Path) -> Path:
    (tmp_path / "archives").mkdir()
    (tmp_path / "archives" / "some.whl").touch()
    return tmp_path / "archives"


@pytest.mark.parametrize(("kind", "base"), [("cpu", "python:3.11-slim"), ("cuda", "nvidia/cuda:")])
def test_an_image_is_built_by_the_engine_that_works(kind: str, base: str, programs: Path, archives: Path) -> None:
    done = build(kind, path=programs, DIST=str(archives), EXTRA="ray,slurm")
    assert done.returncode == 0, done.stderr
    assert f"build --tag benchrunner:{kind} --build-arg BASE={base}" in done.stdout
    assert "--build-arg EXTRA=ray,slurm" in done.stdout
    assert {"Dockerfile", "dist", "some.whl"} <= set(done.stdout.split())


def test_the_folder_of_an_image_can_be_had_alone(programs: Path, archives: Path, tmp_path: Path) -> None:
    done = build("--context", str(tmp_path / "context"), path=programs, DIST=str(archives))
    assert (done.returncode, done.stdout) == (0, "")
    assert sorted(path.name for path in (tmp_path / "context").iterdir()) == ["Dockerfile", "apptainer.def", "dist"]


def test_what_is_wrong_is_said(programs: Path, archives: Path) -> None:
    assert "'gpu' is unknown" in build("gpu", path=programs).stderr
    (programs / "podman").write_text("#!/bin/bash\nexit 1\n")
    done = build("cpu", path=programs, DIST=str(archives))
    assert done.returncode == 2 and "neither docker nor podman works here" in done.stderr


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_the_demo_runs_in_an_image() -> None:
    working = [name for name in ("docker", "podman") if shutil.which(name) and _works(name)]
    if not working:
        pytest.skip("neither docker nor podman works here")
    subprocess.run([BUILD, "cpu"], check=True)
    command = [working[0], "run", "--rm", "benchrunner:cpu", "demo", "--tasks", "rte"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "Done in" in done.stdout + done.stderr, done.stderr


def _works(engine: str) -> bool:
    return subprocess.run([engine, "info"], capture_output=True, check=False).returncode == 0
