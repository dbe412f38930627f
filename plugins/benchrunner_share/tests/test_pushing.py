"""Uploads to a hub on this machine, which answers as the hub does and records what it is asked."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from benchrunner import RequestError
from benchrunner_share.pushing import Push, check_repository
from command_line import Shell
from hub_server import Hub

TOKEN = "hf_secretsecretsecretsecret"
UPLOAD = """
import sys
from pathlib import Path
from benchrunner import RequestError
from benchrunner_share.pushing import Push, uploaded
try:
    print(uploaded(Push.plan(Path(sys.argv[1]), "towns/results", "0123456789abcdef" * 4)).sentence)
except RequestError as error:
    print("refused:", error)
"""


class Uploads:
    """A hub that takes uploads; the shapes of its answers are those of huggingface.co in August 2026."""

    def __init__(self, *, status: int = 200) -> None:
        self.requests: list[str] = []
        self.files: dict[str, bytes] = {}
        self.summary = ""
        self.tokens: set[str | None] = set()
        hub = self

        class Answers(BaseHTTPRequestHandler):
            def log_message(self, *words: Any) -> None:
                pass

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                hub.requests.append(f"POST {self.path}")
                hub.tokens.add(self.headers.get("Authorization"))
                content = json.dumps(hub.answer(self.path, body)).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, path: str, body: bytes) -> Any:
        """Answer a request, and keep the files of a commit."""
        address = f"http://127.0.0.1:{self.server.server_port}/datasets/towns/results"
        if path.endswith("/preupload/main"):
            files = [{**file, "uploadMode": "regular", "shouldIgnore": False} for file in json.loads(body)["files"]]
            return {"files": files}
        if "/commit/main" in path:
            for line in map(json.loads, body.decode().splitlines()):
                if line["key"] == "file":
                    self.files[line["value"]["path"]] = base64.b64decode(line["value"]["content"])
                else:
                    self.summary = line["value"]["summary"]
            return {"success": True, "commitOid": "0" * 40, "commitUrl": f"{address}/commit/{'0' * 40}"}
        if path.endswith("/validate-yaml"):
            return {"errors": [], "warnings": []}
        return {"url": address, "name": "towns/results", "id": "1"}

    def upload(self, folder: Path, home: Path, **more: str) -> str:
        """Upload a folder from a process of its own, which reads the address when it is started."""
        with Hub(home) as other:
            environment = other.environment(home) | {"HF_ENDPOINT": f"http://127.0.0.1:{self.server.server_port}"}
        done = subprocess.run(
            [sys.executable, "-c", UPLOAD, str(folder)],
            env={"PATH": "", "HF_HUB_DISABLE_PROGRESS_BARS": "1", **environment, **more},
            capture_output=True,
            text=True,
            timeout=300,
        )
        self.server.shutdown()
        self.server.server_close()
        assert done.returncode == 0, done.stderr
        assert TOKEN not in done.stdout + done.stderr
        return done.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of two files."""
    (tmp_path / "shared" / "fits").mkdir(parents=True)
    (tmp_path / "shared" / "README.md").write_text("# Results\n")
    (tmp_path / "shared" / "fits" / "one.json").write_text("{}\n")
    return tmp_path / "shared"


def test_a_folder_is_uploaded_in_one_commit(folder: Path, tmp_path: Path) -> None:
    hub = Uploads()
    said = hub.upload(folder, tmp_path / "home", HF_TOKEN=TOKEN)
    assert said.startswith("Uploaded 2 files (0.0 MB) to the data set towns/results: http://127.0.0.1:")
    assert hub.files == {"README.md": b"# Results\n", "fits/one.json": b"{}\n"}
    assert hub.summary == "Add results with the fingerprint 0123456789abcdef"
    assert hub.requests[0] == "POST /api/repos/create" and f"Bearer {TOKEN}" in hub.tokens


def test_a_refusal_says_what_to_do_without_the_token(folder: Path, tmp_path: Path) -> None:
    said = Uploads(status=403).upload(folder, tmp_path / "home", HF_TOKEN=TOKEN)
    assert said.startswith("refused: The hub refused the upload to towns/results (status 403)")
    said = Uploads().upload(folder, tmp_path / "home")
    assert said == "refused: The hub must know who uploads: run 'hf auth login', or set HF_TOKEN.\n"


@pytest.mark.parametrize("name", ["towns", "a/b/c", "../x", "a/..", "a b/c", "https://x/y", "a/b.git", "-a/b", ""])
def test_names_that_the_hub_cannot_have_are_refused(name: str) -> None:
    with pytest.raises(RequestError, match="OWNER/NAME"):
        check_repository(name)


def test_without_yes_the_command_only_says_what_it_would_do(shared: Shell) -> None:
    shell = shared
    share = ("share", "first", "--out", "out", *shell.folders())
    out = shell.done(*share, "--push", "towns/moods")
    assert "Dry run: " in out and "would be uploaded to the data set towns/moods" in out and "Add --yes" in out
    assert json.loads(shell.done(*share, "--push", "towns/moods", "--json"))["push"]["address"] == ""
    assert "name a data set of the hub as OWNER/NAME" in shell.refused(*share, "--push", "moods")
    assert "--yes is for an upload" in shell.refused(*share, "--yes")
    assert "leave one of them out" in shell.refused(*share, "--push", "towns/moods", "--yes", "--offline")
    assert Push.plan(shell.folder / "out", "towns/moods", "").files > 5
