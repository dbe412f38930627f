"""The connection to a Ray cluster, and what its nodes have."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterable, Iterator, Mapping

from benchrunner import RequestError
from benchrunner.engine import first_line
from benchrunner_ray.settings import RaySettings

CONNECT_SECONDS = 5.0
"""Time in which the head of a cluster must accept a connection."""
GB = 10**9


@contextlib.contextmanager
def connected(settings: RaySettings) -> Iterator[None]:
    """Connect to the cluster of the settings, or start Ray here. A connection that exists already is used and kept."""
    import ray

    if ray.is_initialized():
        yield
        return
    handler = signal.getsignal(signal.SIGTERM)
    try:
        _connect(settings.address)
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, handler)  # Ray's handler would end the command without its checkpoints
        yield
    finally:
        ray.shutdown()


def _connect(address: str) -> None:
    import logging

    import ray

    if ":" in address:
        import socket

        host, _, port = address.rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_SECONDS).close()
        except OSError as error:
            raise RequestError(
                f"address={address}: nothing answers there ({error.strerror or error}). 'ray status' on the head shows "
                "whether the cluster runs."
            ) from None
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # a Ray that is started here reports nothing to anybody
    dashboard = False if address == "local" else None
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, include_dashboard=dashboard)
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        raise RequestError(
            f"address={address}: Ray does not connect: {first_line(error).rstrip('.')}. Give address=local to start "
            "Ray on this machine, or HOST:PORT of a head."
        ) from None


def requested(settings: RaySettings, cores: int, gpus: float) -> dict[str, float]:
    """Return what a fit asks of a node, by Ray's names of resources."""
    wanted = {"CPU": float(cores), "GPU": gpus, "memory": (settings.memory_gb or 0) * GB}
    return {name: amount for name, amount in wanted.items() if amount}


def some_node_has(wanted: Mapping[str, float]) -> bool:
    """Return whether a living node is large enough, whether or not it is busy."""
    return any(_has(node, wanted) for node in _living_nodes())


def _has(node: Mapping[str, float], wanted: Mapping[str, float]) -> bool:
    return all(node.get(name, 0) >= amount for name, amount in wanted.items())


def described_nodes(names: Iterable[str]) -> str:
    """Describe what the living nodes have of some resources."""
    nodes = []
    for node in _living_nodes():
        nodes.append(described({name: node.get(name, 0) for name in names}))
    return "; ".join(nodes) or "there is none"


def described(resources: Mapping[str, float]) -> str:
    """Describe resources in words: 4 CPU, 1 GPU, 16 GB memory."""
    return ", ".join(
        f"{amount / GB:.3g} GB memory" if name == "memory" else f"{amount:g} {name}"
        for name, amount in resources.items()
    )


def _living_nodes() -> list[dict[str, float]]:
    """Return the resources of each living node."""
    import ray

    return [node["Resources"] for node in ray.nodes() if node["Alive"]]  # type: ignore[no-untyped-call]
