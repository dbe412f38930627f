"""A cluster of two nodes loses one in the middle of a study: its fits run on the other, and no finished fit again."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from benchrunner.results import Fit
from benchrunner_ray.executor import RayExecutor
from benchrunner_ray.settings import RaySettings
from cluster_plugin import Home
from conftest import SMALL


@pytest.mark.slow
def test_the_fits_of_a_lost_node_run_on_another(home: Home, cluster: Any) -> None:
    node = cluster.add_node(num_cpus=1, **SMALL)
    made = home.runner()
    quick, slow = home.fits(made, 2, epochs=1), home.fits(made, 4, method="slow")

    def lose_the_node() -> None:
        end = time.monotonic() + 300
        while sum(map(home.begun, slow)) < 2 and time.monotonic() < end:
            time.sleep(0.05)
        cluster.remove_node(node, allow_graceful=False)
        time.sleep(1)
        (home.marks / "hurry").touch()

    killer = threading.Thread(target=lose_the_node)
    killer.start()
    executor = RayExecutor(RaySettings(address=cluster.address))
    done: list[Fit] = []
    for fit, record in executor.run([*quick, *slow], made.fit_runner):
        assert record.status == "done" and made.folder(fit).finished_record() == record
        done.append(fit)
    killer.join()
    assert {fit.id for fit in done} == {fit.id for fit in (*quick, *slow)} and len(done) == 6
    assert [home.begun(fit) for fit in quick] == [1, 1]
    assert sorted(home.begun(fit) for fit in slow) == [1, 1, 1, 2], "one fit was lost, and ran again"
