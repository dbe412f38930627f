"""Pages of the documentation: their blocks, their prose, the commands and files that they name."""

import re
from pathlib import Path

CODE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FOLDERS = ("benchrunner/", "docs/", "leaderboards/", "plugins/", "tests/", ".ci/")


def blocks(language: str, page: Path) -> list[str]:
    """Give the code blocks of one language."""
    found = CODE.findall(page.read_text(encoding="utf-8"))
    return [body for name, body in found if name == language]


def prose(page: Path) -> str:
    """Give a page without its code blocks."""
    return CODE.sub("", page.read_text(encoding="utf-8"))


def shown_commands(page: Path) -> list[str]:
    """Give every benchrunner command line of a page: in its blocks, and in its prose where it has arguments."""
    shell = [
        line.removeprefix("$ ") for kind in ("sh", "console") for text in blocks(kind, page) for line in lines(text)
    ]
    found = [line.removesuffix(" 2>&1") for line in shell if line.startswith("benchrunner ")]
    return found + re.findall(r"`(?:\.venv/bin/)?(benchrunner [a-z]+ [^`]+)`", prose(page))


def lines(text: str) -> list[str]:
    """Split a block into lines; a backslash at the end of a line continues it."""
    return text.replace("\\\n", " ").splitlines()


def named_files(page: Path) -> list[str]:
    """Give the files of the repository that the prose names in backticks; `*` may stand for any name."""
    names = re.findall(r"`([\w.*/-]+)`", prose(page))
    return [
        name
        for name in names
        if name.startswith(FOLDERS) or re.fullmatch(r"[A-Z]+\.(md|cff)|requirements[\w-]*\.txt", name)
    ]
