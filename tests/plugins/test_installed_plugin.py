"""A stranger's plugin, installed by pip: the whole way through the real command line."""

import json
import os
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

import forked

STRANGER = Path(__file__).parents[1] / "support" / "installed_plugin"
QUICK = ("--epochs", "4", "--lr", "1e-3", "--batch-size", "8", "--device", "cpu", "--quiet")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the plugin installed into it and its demo data."""
    home = tmp_path_factory.mktemp("stranger")
    shutil.copytree(STRANGER, home / "source", ignore=shutil.ignore_patterns("*.egg-info", "build", "__pycache__"))
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index")
    done = subprocess.run([*pip, "--target", home / "site", home / "source"], capture_output=True, text=True)
    if "No module named 'setuptools'" in done.stderr or "BackendUnavailable" in done.stderr:
        pytest.skip("setuptools is not there to build a distribution with")
    assert done.returncode == 0, done.stderr
    code = "import sys, pathlib, bbc_for_benchrunner as bbc; bbc.demo_files(pathlib.Path('data'))"
    subprocess.run([sys.executable, "-c", code], cwd=home, env=surroundings(home), check=True)
    return home


def surroundings(home: Path) -> dict[str, str]:
    more = {"PYTHONPATH": str(home / "site"), "BENCHRUNNER_CACHE": str(home / "cache"), "HF_HUB_OFFLINE": "1"}
    return {**os.environ, **more}


def benchrunner(home: Path, *words: str, code: int = 0) -> str:
    done = forked.run(["-m", "benchrunner", *words], cwd=home, env=surroundings(home))
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout if code == 0 else done.stderr


def test_it_is_in_the_list_and_the_doctor_is_content(home: Path) -> None:
    found = json.loads(benchrunner(home, "list", "--json"))
    assert "bbc/news" in [one["name"] for one in found["tasks"]]
    (own,) = [one for one in found["plugins"] if one["name"] == "bbc"]
    assert own["about"].startswith("bbc-for-benchrunner 1.0+source."), "a folder's code has no version of its own"


def test_the_whole_way(home: Path) -> None:
    from benchrunner.results import discover

    if "bert/random-tiny" not in discover().backbones:
        pytest.skip("needs a plugin with a backbone, such as plugins/benchrunner_bert")
    found = json.loads(benchrunner(home, "data", "status", "news", "--data", "data", "--json"))
    assert [row["notes"] for row in found] == [
        [f"{rows} {role} rows, where the official count is {official:,}"]
        for rows, role, official in ((160, "train", 1192), (40, "dev", 149), (40, "test", 149))
    ]
    fitted = benchrunner(
        home, "run", "news", "--backbone", "bert/random-tiny", "--data", "data", "--runs", "runs", *QUICK, "--json"
    )
    (cell,) = json.loads(fitted)["cells"]
    (accuracy,) = cell["scores"]
    assert accuracy["best_on_dev"]["value"] > 0.5, "five topics: guessing is 0.2"
    run = cell["selected"]
    (home / "mine.csv").write_text('id,text\n1,"The coach said: ""goal"", match"\n2,"new software, phone users"\n')
    answers = benchrunner(home, "predict", run, "mine.csv", "--runs", "runs").splitlines()
    assert [line.split("\t")[0] for line in answers] == ["index", "0", "1"]
    assert {line.split("\t")[1] for line in answers[1:]} <= {"business", "entertainment", "politics", "sport", "tech"}
    benchrunner(home, "predict", run, "data/bbc/test.csv", "--runs", "runs", "--out", "said.tsv")
    asked = ("audit", "said.tsv", "--task", "news", "--split", "test", "--data", "data", "--json")
    (scored,) = json.loads(benchrunner(home, *asked))["files"]
    assert scored["scores"]["accuracy"]["value"] > 0.5
    benchrunner(home, "runs", "export", run, "model", "--runs", "runs")
    config = json.loads((home / "model" / "config.json").read_text())
    assert list(config["label2id"]) == ["business", "entertainment", "politics", "sport", "tech"]
    again = benchrunner(home, "runs", "export", run, "model", "--runs", "runs", code=2)
    assert again == "benchrunner: model exists already; name a folder that does not.\n"


def test_its_distribution_is_not_part_of_the_environment() -> None:
    names = {one.metadata["Name"] for one in metadata.distributions()}
    assert "bbc-for-benchrunner" not in names


def test_it_keeps_the_contract_of_a_task(home: Path, tmp_path: Path) -> None:
    code = (
        "import sys, pathlib; from benchrunner_kit.testing import check_task; import bbc_for_benchrunner as bbc\n"
        "for task in bbc.register_tasks(): check_task(task, pathlib.Path(sys.argv[1]))"
    )
    done = forked.run(["-c", code, str(tmp_path)], env=surroundings(home))
    assert done.returncode == 0, done.stderr
