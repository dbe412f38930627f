"""Any damaged file is read, or refused with an error that names it: no other error, no hang, no flood of memory."""

import resource
import shutil
import time
from collections import Counter
from pathlib import Path

import pytest
from damage import damaged
from hypothesis import HealthCheck, Phase, given, note, settings
from readers.reader import Reader
from readers.table import PARTS, readers

from benchrunner.errors import PluginError, RequestError

FEW, MANY = 4, 100
"""Damaged files of each of the more than hundred readers: in every run of the tests, and with -m slow."""
MEMORY = 600
"""Megabytes that the process may grow by while a file of up to ten megabytes is read."""
SECONDS = 10.0
"""CPU time in which a file is read."""


def outcome(reader: Reader, content: bytes, folder: Path) -> str:
    """Let a reader read the content as its file; return what came of it."""
    path = folder / reader.file
    path.parent.mkdir(parents=True, exist_ok=True)
    for name, right in reader.further.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(right)
    path.write_bytes(content)
    before, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    sentences = list[str]()
    try:
        result = reader.read(path)
        sentences = result if isinstance(result, list) else []
        ending = "refused" if sentences else "read"
    except (RequestError, PluginError) as error:
        sentences, ending = [str(error)], "refused"
    for sentence in sentences:
        assert (reader.named or path.name) in sentence, f"does not name the file: {sentence[:300]}"
        assert len(sentence) < 5_000, f"floods: {sentence[:300]}"
    assert time.process_time() - started < SECONDS
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024 < MEMORY
    return ending


@pytest.mark.parametrize("part", PARTS)
def test_a_right_file_is_read(part: str, tmp_path: Path) -> None:
    """Without this, a reader that refuses everything would pass."""
    endings = {name: outcome(reader, reader.seeds[0], tmp_path / name) for name, reader in readers(part).items()}
    assert {name: ending for name, ending in endings.items() if ending != "read"} == {}


def check_damaged(part: str, folder: Path, cases: int) -> Counter[str]:
    """Let the readers of a part read so many damaged files each; return how often each ending came."""
    endings = Counter[str]()
    for name, reader in readers(part).items():
        check(name, reader, folder, cases, endings)
    assert endings.total() >= cases * len(readers(part))
    return endings


def check(name: str, reader: Reader, folder: Path, cases: int, endings: Counter[str]) -> None:
    @settings(
        max_examples=cases,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(damaged(reader.seeds))
    def one_file(content: bytes) -> None:
        note(name)
        shutil.rmtree(folder / "files", ignore_errors=True)
        endings[outcome(reader, content, folder / "files")] += 1

    one_file()


@pytest.mark.parametrize("part", PARTS)
def test_a_damaged_file_is_read_or_refused(part: str, tmp_path: Path) -> None:
    check_damaged(part, tmp_path, FEW)


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
def test_many_damaged_files_are_read_or_refused(part: str, tmp_path: Path) -> None:
    print(part, len(readers(part)), "readers:", dict(check_damaged(part, tmp_path, MANY)))
