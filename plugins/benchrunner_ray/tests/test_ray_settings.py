"""Wrong settings of the executor, and a cluster that is not there, are one clear sentence each."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from benchrunner import RequestError
from benchrunner.command_line.main import main
from benchrunner.results import discover
from benchrunner_ray.cluster import requested
from benchrunner_ray.executor import RayExecutor
from benchrunner_ray.settings import RaySettings
from cluster_plugin import Home


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ("address=head", "address must be local, auto or HOST:PORT, not 'head'."),
        ("address=head:70000", "address must be local, auto or HOST:PORT, not 'head:70000'."),
        ("address=ray://head:10001", "address=ray://head:10001 is for Ray Client, which this executor does not"),
    ],
)
def test_wrong_options_are_refused(option: str, reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["run", "x", "--executor", "ray", "--executor-option", option]
    assert main(words, plugins=discover()) == 2
    assert capsys.readouterr().err.startswith(f"benchrunner: {reason}")


def test_a_fit_asks_for_a_gpu_and_a_core_for_each_device() -> None:
    assert requested(RaySettings(memory_gb=2), 4, 2.0) == {"CPU": 4.0, "GPU": 2.0, "memory": 2e9}
    with pytest.raises(RequestError, match=r"gpus must be a number from 0 up, whole above 1, not 1\.5"):
        RaySettings(gpus=1.5)


def test_a_cluster_that_does_not_answer_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ray", reason="Ray has no wheel for this platform")
    home = Home(tmp_path, monkeypatch)
    made = home.runner()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
        executor = RayExecutor(RaySettings(address=address))
        with pytest.raises(RequestError, match=rf"address={address}: nothing answers there \(Connection refused\)\."):
            list(executor.run(home.fits(made, 1), made.fit_runner))
