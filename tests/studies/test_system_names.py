"""Names of systems on a command line: given ones, and short ones of long paths."""

from pathlib import Path

import pytest

from benchrunner.errors import RequestError
from benchrunner.studies.system_names import named_backbones, short_paths


@pytest.mark.parametrize(
    ("word", "name", "backbone"),
    [
        ("small=models/a", "small", "models/a"),
        ("small=run:0123", "small", "run:0123"),
        ("BERT (ours)=a", "BERT (ours)", "a"),
        ("mine=lr=1e-5", "mine", "lr=1e-5"),
        ("out/lr=1e-5", "out/lr=1e-5", "out/lr=1e-5"),
        ("bert:a=b,c", "bert:a=b,c", "bert:a=b,c"),
        ("bert/tiny", "bert/tiny", "bert/tiny"),
    ],
)
def test_a_word_is_a_name_with_a_backbone_or_a_backbone(word: str, name: str, backbone: str) -> None:
    assert named_backbones([word]) == {name: backbone}


def test_a_path_with_an_equals_sign_is_a_backbone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert named_backbones(["lr=1e-5"]) == {"lr": "1e-5"}
    Path("lr=1e-5").mkdir()
    assert named_backbones(["lr=1e-5"]) == {"lr=1e-5": "lr=1e-5"}
    assert named_backbones(["mine=lr=1e-5"]) == {"mine": "lr=1e-5"}


@pytest.mark.parametrize("word", ["=a", "small=", "a,b=c", "-x=a", "*=a", "a\nb=c"])
def test_what_cannot_be_a_name_is_refused(word: str) -> None:
    with pytest.raises(RequestError, match="is not NAME=BACKBONE"):
        named_backbones([word])


@pytest.mark.parametrize("words", [["a=x", "a=y"], ["mini=x", "mini"]])
def test_two_systems_may_not_share_a_name(words: list[str]) -> None:
    with pytest.raises(RequestError, match="Two systems are named"):
        named_backbones(words)


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["runs/a/last", "runs/b/last"], [".../a/...", ".../b/..."]),
        (["/data/of/mine/bert"], [".../bert"]),
        (["/models/a", "/data/x/y/b"], ["/models/a", "/data/x/y/b"]),
        (["/data/x/a/1", "/data/x/a/2", "/data/y/a/2"], [".../x/a/1", ".../x/a/2", ".../y/a/2"]),
        (["/data/x/a", "/data/x/a/b"], [".../a", ".../a/b"]),
        (["a/b", "c/a/b"], ["a/b", "c/a/b"]),
    ],
)
def test_a_short_path_has_what_tells_it_from_the_others(paths: list[str], names: list[str]) -> None:
    assert list(short_paths(paths).values()) == names


def test_only_long_paths_that_exist_are_shortened(tmp_path: Path) -> None:
    folders = [tmp_path / "experiments" / name / "checkpoint-1000" for name in "ab"]
    for folder in folders:
        folder.mkdir(parents=True)
    named = named_backbones([*map(str, folders), "organisation/a-model-of-a-hub", "x=y"])
    assert list(named) == [".../a/...", ".../b/...", "organisation/a-model-of-a-hub", "x"]
    assert list(named.values()) == [*map(str, folders), "organisation/a-model-of-a-hub", "y"]
