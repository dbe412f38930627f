"""A comparison that is killed, starved or run twice at once: nothing finished is lost or fitted again."""

import functools
import json
import random
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from counted_study import CountedStudy, SmallDisk, contents, small_disk


@pytest.fixture
def study(tmp_path: Path) -> CountedStudy:
    """Two backbones, two restarts, and the majority answer."""
    return CountedStudy(tmp_path)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    yield from small_disk(tmp_path / "disk")


Whole = Callable[..., tuple[CountedStudy, str]]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """Run a comparison in a folder of its own, once for each recipe; return it with its standard output."""

    @functools.cache
    def uninterrupted(**recipe: Any) -> tuple[CountedStudy, str]:
        study = CountedStudy(tmp_path_factory.mktemp("whole"), **recipe)
        code, out, err = study.run()
        assert (code, err) == (0, "")
        return study, out

    return uninterrupted


def without_seconds(out: str) -> dict[str, Any]:
    """Read the JSON of a comparison, without the seconds of its fits, which differ from run to run."""
    result: dict[str, Any] = json.loads(out)
    del result["computing"]["seconds"]
    notes = [note for note in result["notes"] if " seconds of fitting on " not in note]
    assert len(notes) == len(result["notes"]) - 1
    return {**result, "notes": notes}


def killed_and_finished(study: CountedStudy, *, kills: int, step: float, seed: int) -> None:
    """Kill the command at random moments, each a share of the whole time after the one before, then let it finish."""
    moments = random.Random(seed)
    begun = time.monotonic()
    study.run("model0", STEP="0")  # how long a start takes here, and what the first backbone's fits leave
    startup = (time.monotonic() - begun) / 2
    fits = 2 * len(study.recipe[1].split(",")) * int(study.recipe[3])
    share = 12 * step * fits / kills  # each fit has 12 steps
    for _ in range(kills):
        process = study.start(session=True, STEP=str(step))
        time.sleep(moments.uniform(0, startup + 2 * share))
        study.kill(process)
    code, _, err = study.run()
    assert (code, err) == (0, "")


@pytest.mark.parametrize(
    ("kills", "recipe", "step"),
    [
        (3, {}, 0.02),
        pytest.param(30, {"lr": "5e-3,1e-2,2e-2", "restarts": 4}, 0.04, marks=pytest.mark.slow),
    ],
)
def test_a_killed_command_ends_bit_identical(
    kills: int, recipe: dict[str, Any], step: float, whole: Whole, tmp_path: Path
) -> None:
    study = CountedStudy(tmp_path, **recipe)
    killed_and_finished(study, kills=kills, step=step, seed=5)
    other, out = whole(**recipe)
    left, expected = contents(study.runs), contents(other.runs)
    assert left.keys() == expected.keys()
    assert [name for name in left if left[name] != expected[name]] == []
    assert {state for _, state in study.starts()} == {"new"}, "no finished fit was started again"
    assert study.finished() == {name.partition("/")[0] for name in expected if name.endswith("fit.json")}
    repeated = study.run()[1]
    assert without_seconds(repeated) == without_seconds(out)


def test_two_commands_at_once_run_each_fit_once(study: CountedStudy) -> None:
    processes = [study.start(STEP="0.01") for _ in range(2)]
    printed = [process.communicate() for process in processes]
    assert [process.wait() for process in processes] == [0, 0], printed
    assert json.loads(printed[0][0]) == json.loads(printed[1][0])
    assert len(study.begun()) == 2 * 2
    assert set(study.begun().values()) == {1}


def test_a_third_backbone_runs_only_its_own_fits(study: CountedStudy, whole: Whole) -> None:
    shutil.copytree(whole()[0].runs, study.runs)
    code, out, _ = study.run("model0", "model1", "model2")
    assert code == 0 and json.loads(out)["backbones"] == ["model0", "model1", "model2"]
    cells = [cell for cell in json.loads(out)["cells"] if cell["backbone"] == "model2"]
    assert sorted(fit for fit, _ in study.starts()) == sorted(fit["id"] for cell in cells for fit in cell["fits"])


def test_a_full_disk_is_told_and_the_command_goes_on(study: CountedStudy, disk: SmallDisk, whole: Whole) -> None:
    if not disk.mount(kilobytes=150):
        pytest.skip("only root may mount a small file system")
    study.runs = disk.folder / "runs"
    code, out, err = study.run()
    assert (code, out, len(err.splitlines())) == (1, "", 1)
    assert "No space left on device. Make room, then repeat the command: finished fits are kept" in err
    finished = study.finished()
    assert 0 < len(finished) < 5 and not list(study.runs.rglob("*.part"))
    assert not any(json.loads(path.read_text())["status"] == "failed" for path in study.runs.glob("*/record.json"))
    disk.resize("size=5m")
    started = len(study.starts())
    assert study.run()[0] == 0
    assert not {fit for fit, _ in study.starts()[started:]} & finished
    assert contents(study.runs) == contents(whole()[0].runs)


def test_a_read_only_runs_folder_is_one_sentence(study: CountedStudy, disk: SmallDisk, whole: Whole) -> None:
    if not disk.mount(kilobytes=5000):
        pytest.skip("only root may mount a small file system")
    study.runs = disk.folder / "runs"
    shutil.copytree(whole()[0].runs, study.runs)
    finished = study.finished()
    disk.resize("ro")
    code, out, err = study.run("model2")
    assert (code, out, len(err.splitlines())) == (1, "", 1)
    assert "Read-only file system. Choose a folder that can be written; finished fits are kept." in err
    assert (study.finished(), study.starts()) == (finished, [])
    disk.resize("rw")
    assert study.run("model2")[0] == 0
    assert len(study.starts()) == 2 and not {fit for fit, _ in study.starts()} & finished


def test_data_deleted_in_mid_study_is_one_sentence(study: CountedStudy) -> None:
    path = study.folder / "data" / "mood" / "train.tsv"
    content = path.read_bytes()
    code, out, err = study.run(DELETE=str(path))
    assert (code, out) == (2, "")
    assert err.startswith("benchrunner: No data for mine/mood, split train:") and "Traceback" not in err
    finished, started = study.finished(), len(study.starts())
    assert finished
    path.write_bytes(content)
    assert study.run()[0] == 0
    assert not {fit for fit, _ in study.starts()[started:]} & finished
