"""Reads files of a folder that somebody else wrote: strictly, with limits, and without following links."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path, PurePosixPath
from typing import Any, final

from benchrunner import DataError, RequestError, json_files, quoted

MOST_FILES = 200_000
"""Largest number of files and folders of a shared folder; 2,000 fits with four splits have 18,000."""
DEEPEST = 8
"""Largest number of folders inside one another; a shared folder has five."""
MOST_BYTES = 2 * 2**30
"""Largest size of a shared folder; one of 2,000 fits with 40,000 answers each has about this size."""
MOST_JSON_BYTES = 8 * 2**20
"""Largest JSON file, which takes about forty times as much memory. The study of 2,000 fits has about 1 MiB."""
LONGEST_LINE = 4 * 2**20
"""Most bytes of the line of one answer. A document of 10,000 words with a label for each has 0.1 MiB."""
MOST_ANSWER_BYTES = 256 * 2**20
"""Largest file of answers. 40,000 answers of a label have 2 MiB."""


class UnreadableFile(DataError):
    """A file of a shared folder is missing, is no ordinary file, or has no content that can be read."""


@final
class ReceivedFolder:
    """A folder that somebody else wrote. Its files are only parsed as JSON or hashed; links are never followed."""

    def __init__(self, path: Path) -> None:
        if not path.is_dir():
            reason = "this is a file; a folder is expected" if path.exists() else "there is no such folder"
            raise RequestError(f"{path}: {reason}.")
        self.path = path
        self.names: frozenset[str] = frozenset()
        """Relative paths of all ordinary files, with forward slashes."""
        self.other_entries: tuple[str, ...] = ()
        """Sentences about entries that are neither ordinary files nor folders, such as symbolic links."""
        self._digests: dict[str, str] = {}
        self._list()

    def _list(self) -> None:
        """Find all files. Raise a `RequestError` for too many files, levels of folders, or bytes."""
        names = set[str]()
        others = list[str]()
        waiting = [(self.path, PurePosixPath(), 0)]
        count = size = 0
        while waiting:
            folder, relative, depth = waiting.pop()
            with os.scandir(folder) as entries:
                for entry in entries:
                    count = count + 1
                    name = relative / entry.name
                    if count > MOST_FILES or depth > DEEPEST:
                        raise RequestError(
                            f"{self.path}: has more than {MOST_FILES:,} files or {DEEPEST} folders inside one another; "
                            "'benchrunner share' writes no such folder."
                        )
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append((Path(entry.path), name, depth + 1))
                    elif entry.is_file(follow_symlinks=False):
                        names.add(str(name))
                        size += entry.stat(follow_symlinks=False).st_size
                    else:
                        kind = "a symbolic link" if entry.is_symlink() else "no ordinary file"
                        others.append(f"{quoted(str(name))} is {kind}, and is not read.")
        if size > MOST_BYTES:
            raise RequestError(
                f"{self.path}: has more than {MOST_BYTES // 2**30} GiB; 'benchrunner share' writes no such folder."
            )
        self.names = frozenset(names)
        self.other_entries = tuple(sorted(others))

    def _open(self, name: str) -> BufferedReader:
        if name not in self.names:
            raise UnreadableFile(f"{quoted(name)} is missing.")
        path = self.path / name
        try:
            file = path.open("rb")
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode) or path.is_symlink():
                file.close()
                raise UnreadableFile(f"{quoted(name)} is no ordinary file.")
        except OSError as error:
            raise UnreadableFile(f"{quoted(name)} cannot be read: {error.strerror}.") from None
        return file

    def sha256(self, name: str) -> str:
        """Return the SHA-256 of a file, in hexadecimal digits."""
        if name not in self._digests:
            with self._open(name) as file:
                self._digests[name] = hashlib.file_digest(file, "sha256").hexdigest()
        return self._digests[name]

    def content(self, name: str) -> bytes:
        """Return the content of a file that has at most `MOST_JSON_BYTES`."""
        with self._open(name) as file:
            size = os.fstat(file.fileno()).st_size
            content = file.read(min(size, MOST_JSON_BYTES) + 1)  # a larger number would allocate as many bytes
        if len(content) > MOST_JSON_BYTES:
            raise UnreadableFile(f"{quoted(name)} is larger than {MOST_JSON_BYTES // 2**20} MiB, and is not read.")
        self._digests[name] = hashlib.sha256(content).hexdigest()  # of what is compared, without reading it again
        return content

    def json_object(self, name: str) -> dict[str, Any]:
        """Read a JSON file that holds an object."""
        try:
            value = json_files.parse_json(self.content(name), quoted(name), finite=True)
        except DataError as fault:
            raise UnreadableFile(str(fault)) from None
        if not isinstance(value, dict):
            raise UnreadableFile(f"{quoted(name)}: a JSON object was expected.")
        return value

    def lines(self, name: str) -> Iterator[bytes]:
        """Yield the lines of a file of answers; raise an `UnreadableFile` for one that is too long."""
        with self._open(name) as file:
            number = size = 0
            while line := file.readline(LONGEST_LINE + 1):
                number = number + 1
                size = size + len(line)
                if len(line) > LONGEST_LINE:
                    most = LONGEST_LINE // 2**20
                    raise UnreadableFile(f"{quoted(name)}, line {number:,}: longer than {most} MiB, and is not read.")
                if size > MOST_ANSWER_BYTES:
                    most = MOST_ANSWER_BYTES // 2**20
                    raise UnreadableFile(f"{quoted(name)} is larger than {most} MiB, and is not read.")
                yield line
