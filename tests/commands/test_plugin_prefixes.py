"""`PLUGIN:BACKBONE`: one plugin loads a backbone that several could load."""

import json
from pathlib import Path

import pytest

from benchrunner import Workspace
from benchrunner.results import Plugins, discover
from benchrunner_kit.testing import TinyBackbone, tiny_family
from command_line import CommandLine
from inline import STUDIES, files, mood, own, plugin


def plugins() -> Plugins:
    """Two plugins whose families load the same folders; `own` is asked first."""
    rival = plugin(register_backbones=[tiny_family("rival/tokens")])
    tasks = plugin(register_tasks=[mood(name="tasks/mood")])
    broken = plugin(register_backbones=[3])
    extra = [STUDIES, ("own", own()), ("rival", rival), ("tasks", tasks), ("broken", broken)]
    return discover(extra=extra, installed=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that both families load."""
    (tmp_path / "model").mkdir()
    TinyBackbone().load(Workspace(tmp_path, tmp_path), seed=0).save(tmp_path / "model")
    files(1, tmp_path / "data")
    return tmp_path / "model"


@pytest.fixture
def shell(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> CommandLine:
    return CommandLine(tmp_path, plugins(), capsys, monkeypatch)


def fitted(shell: CommandLine) -> dict[str, str]:
    """Run id -> name of the plugin of the family that loaded the backbone."""
    families = shell.runs.glob("*/family.json")
    return {path.parent.name: json.loads(path.read_text())["plugin"].split()[0] for path in families}


def test_the_prefix_of_a_plugin_chooses_the_family(shell: CommandLine, folder: Path) -> None:
    assert shell("run", "mine/mood", "--backbone", folder)[0] == 0
    assert shell("run", "mine/mood", "--backbone", f"rival:{folder}")[0] == 0
    assert sorted(fitted(shell).values()) == ["own", "rival"]


@pytest.mark.parametrize("name", ["own:words", "own:tiny/words", "tiny/words", "words"])
def test_listed_names_keep_working(name: str) -> None:
    backbone, family = plugins().backbone_search.find(name, Workspace(Path("runs"), Path("cache")))
    assert (backbone.name, family.name) == ("tiny/words", "tiny/words")


REFUSED = {
    "rivl:model": "There is no backbone 'rivl:model'. Did you mean rival/tokens?",
    "tasks:model": "There is no backbone 'tasks:model'. Known: rival/tokens, tiny/words.",
    "rival:tiny/words": "There is no backbone 'tiny/words'. Known: rival/tokens. Only the plugin 'rival' was asked.",
    "rival:tokns": "There is no backbone 'tokns'. Did you mean rival/tokens? Only the plugin 'rival' was asked.",
    "rival:": "There is no backbone ''. Known: rival/tokens. Only the plugin 'rival' was asked.",
    "model:rest": "There is no backbone 'model:rest'.",
    "C:/models/tiny": "There is no backbone 'C:/models/tiny'.",
    "tiny/words:encoder": "There is no backbone 'tiny/words:encoder'. Did you mean tiny/words?",
}


@pytest.mark.parametrize("reference", REFUSED)
def test_a_wrong_prefix_is_refused(shell: CommandLine, reference: str) -> None:
    code, out = shell("compare", reference, "--tasks", "mine/mood")
    refusal = [line for line in out.splitlines() if "plugin broken is set aside" not in line]
    assert (code, len(refusal)) == (2, 1) and REFUSED[reference] in refusal[0], out


def test_a_folder_with_a_colon_is_found(folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    folder.rename(tmp_path / "rival:model")
    known, workspace = plugins(), Workspace(tmp_path, tmp_path)
    for reference, supplier in (("rival:model", "own"), ("rival:rival:model", "rival")):
        assert known.supplier(known.backbone_search.find(reference, workspace)[1]).name == supplier
