"""Access to the hub: a hub that cannot be reached is asked once, in a short time, and not in silence."""

import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import forked
from benchrunner.io import hub_access
from benchrunner.io.hub_access import HubAccess
from hub_server import Hub

CLIENT = """
import json, sys
from pathlib import Path
from benchrunner_checkpoints.files.hub_files import find_hub_file
from benchrunner_tasks import HubTable
from benchrunner.errors import BenchrunnerError
from benchrunner.io import hub_access
from benchrunner.workspace import Workspace
hub_access.ANSWER_SECONDS, hub_access.SILENT_SECONDS = 0.5, 0.2
workspace = Workspace(runs=Path("runs"), cache=Path("cache"))
table, errors = HubTable("lab/moods", "small", "train", {"text": "text"}), []
files = [lambda name=name: find_hub_file("lab/bert", name, workspace) for name in ("config.json", "vocab.txt")]
for question in (*files, lambda: table.read(workspace), lambda: table.read(workspace)):
    try:
        question()
    except BenchrunnerError as error:
        errors.append(f"{type(error).__name__}: {error}")
print(json.dumps(errors))
"""


class SilentServer:
    """A server that takes connections and never answers; `connections` are those that it took."""

    def __init__(self) -> None:
        self.connections: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        try:
            while True:
                self.connections.append(self._listener.accept()[0])
        except OSError:  # the listener is closed
            return

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in self.connections:
            connection.close()


@pytest.fixture
def server() -> Iterator[SilentServer]:
    silent = SilentServer()
    yield silent
    silent.close()


@pytest.fixture
def access(monkeypatch: pytest.MonkeyPatch) -> HubAccess:
    """Access with short times, and no proxy between."""
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setattr(hub_access, "ANSWER_SECONDS", 0.4)
    monkeypatch.setattr(hub_access, "SILENT_SECONDS", 0.1)
    return HubAccess()


def at(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", address)


def test_a_silent_hub_is_asked_once_and_named(
    server: SilentServer, access: HubAccess, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    at(server.url, monkeypatch)
    began = time.monotonic()
    first = access.failure("config.json of lab/bert")
    assert first is not None and first.startswith(f"{server.url} cannot be reached (no answer in ")
    assert access.failure("config.json of lab/other") == first
    assert time.monotonic() - began < 5 and len(server.connections) == 1
    assert capsys.readouterr().err == "benchrunner: asking the hub for config.json of lab/bert ...\n"


def test_a_resolver_that_fails_or_hangs_is_a_failure(access: HubAccess, monkeypatch: pytest.MonkeyPatch) -> None:
    at("https://hub.invalid", monkeypatch)
    ended = threading.Event()

    def failing(*arguments: object, **settings: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    def hanging(*arguments: object, **settings: object) -> None:
        ended.wait(20)
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    monkeypatch.setattr(socket, "getaddrinfo", failing)
    monkeypatch.setattr(hub_access, "ANSWER_SECONDS", 10.0)
    assert "(Name or service not known). Use --offline" in str(HubAccess().failure("x"))
    monkeypatch.setattr(hub_access, "ANSWER_SECONDS", 0.2)
    monkeypatch.setattr(socket, "getaddrinfo", hanging)
    assert "(no answer in 0.2 seconds)" in str(HubAccess().failure("x"))
    waiting = [thread for thread in threading.enumerate() if thread is not threading.main_thread()]
    assert all(thread.daemon for thread in waiting), "the end of the process would wait for the resolver"
    ended.set()


def test_a_port_where_nothing_listens_is_a_failure(access: HubAccess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_access, "ANSWER_SECONDS", 10.0)
    with socket.create_server(("127.0.0.1", 0)) as closed:
        address = f"http://127.0.0.1:{closed.getsockname()[1]}"
    at(address, monkeypatch)
    assert (
        HubAccess().failure("x")
        == f"{address} cannot be reached (Connection refused). Use --offline to not ask the hub"
    )


def test_any_answer_means_that_the_hub_is_reached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    access = HubAccess()
    with Hub(tmp_path) as hub:  # it answers 404 here
        at(hub.url, monkeypatch)
        assert access.failure("x") is None and access.failure("y") is None
        assert [request.split()[0] for request in hub.requests] == ["HEAD"]  # a page of the hub is large
    access.lost("the line was cut")
    assert access.failure("x") == "the line was cut"
    assert capsys.readouterr().err == ""


def test_files_and_data_share_what_is_known_about_the_hub(server: SilentServer, tmp_path: Path) -> None:
    environment = {"HF_ENDPOINT": server.url, "HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "0"}
    environment |= {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
    done = forked.run(["-c", CLIENT], env={**os.environ, **environment})
    assert done.returncode == 0, done.stderr
    reason = f"{server.url} cannot be reached (no answer in time). Use --offline to not ask the hub"
    place = "hub lab/moods (small, train) could not be read"
    assert [error.replace("no answer in 0.5 seconds", "no answer in time") for error in json.loads(done.stdout)] == [
        f"CheckpointError: hub lab/bert: config.json is not in the local cache and cannot be fetched: {reason}",
        f"CheckpointError: hub lab/bert: vocab.txt is not in the local cache and cannot be fetched: {reason}",
        *2 * [f"DataNotFound: {place}: {reason}"],
    ]
    assert len(server.connections) == 1
    assert done.stderr.count("asking the hub for") == 1
