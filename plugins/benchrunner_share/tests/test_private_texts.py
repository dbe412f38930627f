"""What is private in texts and names of backbones."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchrunner import Workspace
from benchrunner_share import private_texts
from benchrunner_share.private_texts import Private, shared_names

PRIVATE = Private(Workspace(Path("/srv/team space/runs"), Path("/srv/cache"), data=Path("/srv/data")))


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("see /srv/team space/runs/ab12/traceback.txt", "see ab12/traceback.txt"),
        ("read /mnt/disk7/bob/models/mine twice", "read mine twice"),
        ("~/models/mine: no config", "mine: no config"),
        ("in C:\\Users\\bob smith\\model.bin!", "in model.bin!"),
        ("\\\\server\\share\\model.bin", "model.bin"),
        ("https://example.org/a/b is an address", "https://example.org/a/b is an address"),
        ("1/2 and a/b and 3 / 4", "1/2 and a/b and 3 / 4"),
        ("dev.tsv:14: mine/mood", "dev.tsv:14: mine/mood"),
    ],
)
def test_folders_are_cut_from_texts(text: str, left: str) -> None:
    assert PRIVATE.without(text) == left


def test_folders_are_looked_up_once_for_all_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A study has thousands of texts."""
    monkeypatch.setattr(private_texts, "_spellings", None)
    assert PRIVATE.without("see /srv/team space/runs/ab12") == "see ab12"


def test_quotes_are_cut_from_remarks() -> None:
    assert PRIVATE.remark("row 'Mr. Fox' and \"Mrs. Fox\"\nsecond line") == "row '…' and '…'"
    assert PRIVATE.remark("no task 'glue/rte' with 'Mr. Fox'", {"glue/rte"}) == "no task 'glue/rte' with '…'"
    assert PRIVATE.remark("") == ""


def test_private_names_are_found_as_whole_paths() -> None:
    assert list(PRIVATE.found_in("at /srv/data/mood")) == ["/srv/data"]
    assert list(PRIVATE.found_in("at /srv/database or https://x.org/srv/data")) == []


@pytest.mark.parametrize(
    ("backbone", "name"),
    [
        ("/home/alice/models/mine", "mine"),
        ("/home/alice/models/mine/", "mine"),
        ("./models/mine", "mine"),
        ("~/mine", "mine"),
        ("C:\\models\\mine", "mine"),
        ("a/b/c", "c"),
        ("owner/name", "owner/name"),
        ("run:ab12", "run:ab12"),
        ("run:/home/alice/runs/ab12", "run:ab12"),
        ("/home/alice/mine (features)", "mine (features)"),
        ("/", "backbone"),
    ],
)
def test_backbones_keep_the_last_part_of_a_path(backbone: str, name: str) -> None:
    assert shared_names([backbone]) == {backbone: name}


def test_names_of_a_namespace_are_no_paths() -> None:
    names = ["mine/random-4/192", "other/random-4/192", "bert:mine/words"]
    assert list(shared_names(names, namespaces={"mine"}).values()) == [names[0], "192", names[2]]


def test_a_folder_that_exists_is_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "alice" / "mine").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert shared_names(["alice/mine", "bob/mine"]) == {"alice/mine": "mine", "bob/mine": "bob/mine"}
