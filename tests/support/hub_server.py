"""A hub on this machine: serves a folder over the part of the Hugging Face hub's HTTP interface that its clients use.

The folder is laid out as `datasets/<owner>/<name>/...` and `models/[<owner>/]<name>/...`. A repository has one commit,
which every revision means, unless folders `<name>@<branch>` stand beside it: then these are its other branches.
Clients read `HF_ENDPOINT` when they are imported, so they run in a process of their own with `hub.environment`.
"""

from __future__ import annotations

import hashlib
import json
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit


@dataclass(frozen=True)
class Repository:
    """One data set or model at one commit."""

    kind: str
    """`datasets` or `models`."""
    name: str
    folder: Path

    @property
    def branches(self) -> dict[str, Repository]:
        """The other branches, by their names."""
        start = f"{self.folder.name}@"
        folders = {path.name.removeprefix(start): path for path in self.folder.parent.glob(f"{start}*")}
        return {name: Repository(self.kind, self.name, folder) for name, folder in folders.items()}

    def at(self, revision: str) -> Repository | None:
        """The repository at a branch or commit; None for a revision that it does not have."""
        branches = {"main": self, **self.branches}
        commits = {branch.commit: branch for branch in branches.values()}
        return self if len(branches) == 1 else branches.get(revision) or commits.get(revision)

    @property
    def refs(self) -> dict[str, Any]:
        """What `/api/<kind>/<name>/refs` answers."""
        branches = {"main": self, **self.branches}
        listed = [
            {"name": name, "ref": f"refs/heads/{name}", "targetCommit": branch.commit}
            for name, branch in branches.items()
        ]
        return {"branches": listed, "converts": [], "tags": []}

    @property
    def files(self) -> list[Path]:
        return sorted(path for path in self.folder.rglob("*") if path.is_file())

    @property
    def commit(self) -> str:
        """Changes with the content, as a commit does."""
        return _hash("".join(f"{path.relative_to(self.folder)} {_etag(path)}" for path in self.files).encode())

    def describe(self) -> dict[str, Any]:
        """What `/api/<kind>/<name>` answers."""
        return {
            "_id": self.commit[:24],
            "id": self.name,
            "sha": self.commit,
            "private": False,
            "gated": False,
            "disabled": False,
            "downloads": 0,
            "likes": 0,
            "tags": [],
            "lastModified": "2024-01-01T00:00:00.000Z",
            "createdAt": "2024-01-01T00:00:00.000Z",
            "siblings": [{"rfilename": path.relative_to(self.folder).as_posix()} for path in self.files],
        }

    def tree(self, below: str, recursive: bool) -> list[dict[str, Any]]:
        """What `/api/<kind>/<name>/tree/<revision>/<below>` answers."""
        paths = (self.folder / below).rglob("*") if recursive else (self.folder / below).glob("*")
        return [self.entry(path) for path in sorted(paths)]

    def entry(self, path: Path) -> dict[str, Any]:
        name = path.relative_to(self.folder).as_posix()
        if path.is_dir():
            return {"type": "directory", "oid": _hash(name.encode()), "size": 0, "path": name}
        return {"type": "file", "oid": _etag(path), "size": path.stat().st_size, "path": name}


def _hash(content: bytes) -> str:
    return hashlib.sha1(content, usedforsecurity=False).hexdigest()


def _etag(path: Path) -> str:
    return _hash(path.read_bytes())


class Hub:
    """`with Hub(folder) as hub:` serves until the block ends; `hub.requests` lists what was asked."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.requests: list[str] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Answers", (_Answers,), {"hub": self}))
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def environment(self, home: Path) -> dict[str, str]:
        """What a client's process needs beside the ordinary environment; `home` keeps its caches."""
        return {
            "HF_ENDPOINT": self.url,
            "HF_HOME": str(home),
            "HF_HUB_OFFLINE": "0",
            "HF_HUB_DISABLE_TELEMETRY": "1",
            "HF_HUB_DISABLE_XET": "1",
            "HF_HUB_DISABLE_IMPLICIT_TOKEN": "1",
            "NO_PROXY": "127.0.0.1",
            "no_proxy": "127.0.0.1",
        }

    def __enter__(self) -> Hub:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def find(self, kind: str, parts: list[str]) -> tuple[Repository, list[str]] | None:
        """The repository that a path begins with, and the rest of the path."""
        for length in (2, 1):
            folder = self.root.joinpath(kind, *parts[:length])
            following = parts[length : length + 1]
            known = not following or following[0] in ("resolve", "revision", "refs", "tree", "paths-info")
            if len(parts) >= length and folder.is_dir() and known:
                return Repository(kind, "/".join(parts[:length]), folder), parts[length:]
        return None


class _Answers(BaseHTTPRequestHandler):
    """One request."""

    hub: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        self.hub.requests.append(f"{self.command} {self.path}")

    def do_HEAD(self) -> None:
        self._answer(b"")

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers.get("Content-Length", 0))))

    def _answer(self, body: bytes) -> None:
        address = urlsplit(self.path)
        parts = [unquote(part) for part in address.path.strip("/").split("/")]
        about = parts[0] == "api"
        parts = parts[1:] if about else parts
        kind = parts.pop(0) if parts and parts[0] in ("datasets", "models") else "models"
        found = self.hub.find(kind, parts)
        if found is None:
            self._send(404, {"error": "Repository not found"}, {"X-Error-Code": "RepoNotFound"})
            return
        repository, rest = found
        if rest[1:]:
            repository = repository.at(rest[1])
        if repository is None:
            self._send(404, {"error": "Invalid rev id"}, {"X-Error-Code": "RevisionNotFound"})
        elif rest == ["refs"]:
            self._send(200, repository.refs)
        elif about:
            self._describe(repository, rest, parse_qs(address.query), body)
        else:
            self._file(repository, "/".join(rest[2:]))

    def _describe(self, repository: Repository, rest: list[str], query: dict[str, list[str]], body: bytes) -> None:
        """`rest` is nothing, or one of revision, tree and paths-info with a revision and a path."""
        verb, below = rest[0] if rest else "revision", "/".join(rest[2:])
        if verb == "tree" and not (repository.folder / below).is_dir():
            self._send(404, {"error": "Entry not found"}, {"X-Error-Code": "EntryNotFound"})
        elif verb == "tree":
            self._send(200, repository.tree(below, query.get("recursive", ["false"])[0].lower() == "true"))
        elif verb == "paths-info":
            names = json.loads(body)["paths"] if body.lstrip().startswith(b"{") else parse_qs(body.decode())["paths"]
            paths = [repository.folder / name for name in names]
            self._send(200, [repository.entry(path) for path in paths if path.exists()])
        else:
            self._send(200, repository.describe())

    def _file(self, repository: Repository, name: str) -> None:
        path = repository.folder / name
        headers = {"X-Repo-Commit": repository.commit, "Accept-Ranges": "bytes"}
        if not name or not path.is_file():
            self._send(404, {"error": "Entry not found"}, headers | {"X-Error-Code": "EntryNotFound"})
            return
        content = path.read_bytes()
        headers |= {"ETag": f'"{_etag(path)}"', "Content-Type": "application/octet-stream"}
        asked, status = self.headers.get("Range"), 200
        if asked:
            first, _, last = asked.removeprefix("bytes=").partition("-")
            start, end = int(first), int(last) if last else len(content) - 1
            headers["Content-Range"] = f"bytes {start}-{end}/{len(content)}"
            content, status = content[start : end + 1], 206
        self._send(status, content, headers)

    def _send(self, status: int, content: Any, headers: dict[str, str] | None = None) -> None:
        if not isinstance(content, bytes):
            content = json.dumps(content).encode()
            headers = {"Content-Type": "application/json"} | (headers or {})
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)
