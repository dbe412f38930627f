"""The command `share`, and `check` of a shared folder, as a user types them."""

import json

from benchrunner_share.documents.contents import json_text
from command_line import Shell


def verify(shell: Shell, *words: str) -> tuple[int, str, str]:
    return shell("check", "out", "--data", str(shell.folder / "data"), *words)


def test_a_shared_study_is_verified(shared: Shell) -> None:
    code, out, err = verify(shared)
    assert (code, err) == (0, "")
    assert "out: everything is equal." in out
    assert "Not proven, and not provable from answers:" in out
    fingerprints = [line for line in out.splitlines() if line.startswith("Fingerprint: ")]
    again = shared.done("share", "first", "--out", "out", *shared.folders(), "--json")
    assert fingerprints == [f"Fingerprint: {json.loads(again)['fingerprint']}"]


def test_what_differs_is_listed(shared: Shell) -> None:
    study = json.loads((shared.folder / "out" / "study.json").read_text())
    study["result"]["cells"][0]["scores"][0]["mean"] = 0.123
    (shared.folder / "out" / "study.json").write_text(json_text(study))
    code, out, err = verify(shared)
    assert (code, err) == (1, "")
    assert """: '      "mean": 0.123,' stands there, and the facts say '      "mean": 0.""" in out
    assert "'study.json' was changed after the folder was written." in out
    assert "out: differences: " in out and "everything is equal" not in out
    code, out, _ = verify(shared, "--json")
    verified = json.loads(out)
    assert (code, verified["is_equal"], len(verified["differences"]) > 1) == (1, False, True)
    assert verified["not_proven"]


def test_without_data_nothing_differs_and_nothing_is_computed(shared: Shell) -> None:
    code, out, _ = shared("check", "out", "--data", str(shared.folder / "runs"))
    assert code == 1 and "differences: 0; not computed here: 2. 0 scores" in out


def test_finished_runs_are_shared_without_a_study(shared: Shell) -> None:
    runs = json.loads((shared.folder / "out" / "study.json").read_text())["result"]["cells"][0]["candidates"]
    fit = runs[0]["fits"][0]
    shared.done("share", f"run:{fit[:10]}", "--out", "single", *shared.folders())
    assert shared("check", "single", "--data", str(shared.folder / "data"))[0] == 0


def test_a_folder_with_other_contents_is_replaced_if_asked(shared: Shell) -> None:
    words = ("share", "first", "--out", "out", "--url", "https://example.org/moods", *shared.folders())
    assert "or replace it with --force" in shared.refused(*words)
    assert "Fingerprint: " in shared.done(*words, "--force")


def test_wrong_requests_say_what_to_do(shared: Shell) -> None:
    assert "Did you mean first?" in shared.refused("share", "frist", "--out", "new", *shared.folders())
    inside_a_file = shared.refused("share", "first", "--out", "data/mood/dev.tsv/new", *shared.folders())
    assert "dev.tsv/new cannot be written: " in inside_a_file
    assert "out is a shared study: leave out --board" in shared.refused("check", "out", "--board", "moods")
    assert "--out out: the folder has other files" in refused_after_a_note(shared)
    assert "there is no option --runs" in shared.refused("check", "out", "--runs", "x")


def refused_after_a_note(shell: Shell) -> str:
    (shell.folder / "out" / "note.txt").write_text("")
    return shell.refused("share", "first", "--out", "out", *shell.folders())
