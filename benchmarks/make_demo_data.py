"""Write the demo data that plugins ship: a small generated data set of each task, in its real file layout.

    python benchmarks/make_demo_data.py [--check]

Each archive `plugins/benchrunner_*/demo_data/NAME.zip` always holds the same
files; `--check` compares its files instead of writing them.
"""

import argparse
import io
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from demo_data import (
    babylm_files,
    conll2002_files,
    conll_files,
    glue_files,
    glue_layouts,
    pairs_files,
    ranking_files,
    squad_files,
    superglue_files,
    swag_files,
    tales_files,
    xlingual_files,
)

from benchrunner_babylm import multilingual, table

PLUGINS = Path(__file__).parents[1] / "plugins"
SPLITS = ("train", "dev", "test")
Writer = Callable[[int, Path], None]
"""Takes a seed and the folder below which it writes files."""


def archives() -> Iterator[tuple[str, Writer]]:
    """Yield plugin and archive, with the function that writes the files."""
    for task in glue_layouts.LAYOUTS:
        yield f"glue/{task}", partial(glue_files.write, task)
    for task in superglue_files.FILES:
        yield f"superglue/{task}", partial(superglue_files.write, task)
    for task in pairs_files.LAYOUTS:
        yield f"pairs/{task}", partial(pairs_files.write, task)
    for benchmark in xlingual_files.WRITERS:
        yield f"xlingual/{benchmark}", partial(xlingual_files.write, benchmark)
    for filtered in table.TABLE:
        yield f"babylm/{filtered.name}", partial(babylm_files.write, filtered.name)
    for row in multilingual.TABLE:
        for language in row.rows:
            labels = tuple(row.spelled.get(language, row.labels))
            name = f"babylm/{row.name}-{language}"
            yield name, partial(babylm_files.write_multilingual, row.name, language, row.keys, labels)
    for corpus in ("fiqa", "nfcorpus"):
        yield f"ranking/{corpus}", partial(ranking_files.write_corpus, corpus, SPLITS)
    yield "ranking/wikiqa", ranking_files.write_wikiqa
    for code in ("esp", "ned"):
        yield f"conll2002/{code}", partial(conll2002_files.write, code)
    yield "conll/conll2003", conll_files.write
    yield "squad/squad-1.1", _squad_and_trivia
    yield "squad/squad-2.0", partial(squad_files.write, "v2.0")
    yield "swag/swag", swag_files.write
    yield "kit/tales", lambda _, folder: tales_files.write(folder)


def _squad_and_trivia(seed: int, folder: Path) -> None:
    """Write SQuAD 1.1, and TriviaQA, which studies fine-tune on before SQuAD 1.1."""
    squad_files.write("v1.1", seed, folder)
    squad_files.write_trivia(seed, folder)


def archived(write: Writer) -> bytes:
    """Return the bytes of an archive of the files that a function writes."""
    packed = io.BytesIO()
    with tempfile.TemporaryDirectory() as place, zipfile.ZipFile(packed, "w") as archive:
        folder = Path(place)
        write(0, folder)
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                entry = zipfile.ZipInfo(path.relative_to(folder).as_posix())  # dated 1980
                archive.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED, compresslevel=9)
    return packed.getvalue()


def main() -> int:
    """Write or compare all archives; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare the archives that are there, and write none")
    check = parser.parse_args().check
    different = []
    for name, write in archives():
        plugin, file = name.split("/")
        path = PLUGINS / f"benchrunner_{plugin}" / "demo_data" / f"{file}.zip"
        content = archived(write)
        if check:
            if not path.is_file() or contents(path.read_bytes()) != contents(content):
                different.append(path)
        else:
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)
    for path in different:
        print(f"{path} differs from what this script writes")
    return 1 if different else 0


def contents(archive: bytes) -> dict[str, bytes]:
    """Return the files of an archive. Another version of zlib may pack them in other bytes."""
    with zipfile.ZipFile(io.BytesIO(archive)) as packed:
        return {name: packed.read(name) for name in packed.namelist()}


if __name__ == "__main__":
    sys.exit(main())
