"""Limits of the operating system end a command with one sentence that names the place."""

import resource

import pytest

from command_line import Shell

LONG = "n" * 300


@pytest.mark.parametrize(
    "words",
    [
        ("compare", LONG, "--tasks", "mood", "--method", "majority"),
        ("compare", "words", "--study", f"{LONG}.toml"),
        ("runs", "show", LONG),
        ("report", LONG),
        ("share", LONG, "--out", "out"),
        ("runs", "export", LONG, "out"),
    ],
    ids=lambda words: " ".join(words[:2])[:12],
)
def test_a_name_that_is_too_long_is_refused(shell: Shell, words: tuple[str, ...]) -> None:
    code, _, err = shell(*words)
    assert code == 2 and len(err.splitlines()) == 1, err
    assert ("nnn" in err or "no file system has names so long" in err) and len(err) < 1_000


def test_a_limit_of_file_sizes_is_told_with_the_file(shell: Shell) -> None:
    words = ("run", "mood", "--method", "majority", *shell.folders())
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, unlimited[1]))
    try:
        code, _, err = shell(*words)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
    assert (code, len(err.splitlines())) == (1, 1), err
    assert str(shell.folder / "runs") in err
    assert "File too large. Raise the limit of files (ulimit -f), then repeat the command" in err
    assert not list(shell.folder.rglob("*.part"))
    code, _, err = shell(*words)
    assert code == 0, err
