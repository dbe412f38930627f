"""A simulated Ray cluster, and a home whose plugin the cluster's workers have installed."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import Any

import pytest

from cluster_plugin import Home

SMALL = {"object_store_memory": 80 * 1024**2}
"""Ray's smallest object store: about 75 MB."""
WATCHFUL = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 500, "health_check_failure_threshold": 4}
"""Settings by which Ray finds a lost node in seconds."""


@pytest.fixture(scope="module", autouse=True)
def own_handlers() -> Iterator[None]:
    """Put the process's handler of SIGTERM back: Ray leaves its own."""
    handler = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, handler)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    pytest.importorskip("ray", reason="Ray has no wheel for this platform")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        yield Home(tmp_path_factory.mktemp("home"), patch)


@pytest.fixture(scope="module")
def cluster(home: Home) -> Iterator[Any]:
    """A cluster with a head of one core. A test may add nodes."""
    import ray
    from ray.cluster_utils import Cluster

    made = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 1, "include_dashboard": False, "_system_config": WATCHFUL, **SMALL},
    )
    try:
        yield made
    finally:
        ray.shutdown()
        made.shutdown()
