"""Plugins whose distributions are damaged or have odd files."""

from collections.abc import Iterator

from bad_plugins.case import BASE, LIST, SET_ASIDE, Case, registered

SOUND = BASE.format(error="pass") + registered("[task()]")
DIRECT_URL = "bad-1.0.dist-info/direct_url.json"
EDITABLE = (DIRECT_URL, '{"url": "file:///x", "dir_info": {"editable": true}}')

FILES = {
    "an editor's lock": ("bad_case/.#model.py", "LINK:me@host.1234"),
    "a link to itself": ("bad_case/loop.py", "LINK:loop.py"),
    "a name that is not UTF-8": ("bad_case/\udcff.py", "x = 1"),
    "a pipe named x.py": ("bad_case/x.py", "PIPE"),
}
"""Odd file beside the modules of an editable plugin -> its path and content."""

DIRECT_URLS = {
    "no JSON": "{",
    "not UTF-8": "\udcff",
    "100,000 brackets": "[" * 100_000,
}
"""Content of direct_url.json."""

ENTRY_POINTS = {
    "names no module": ("[benchrunner]\nbad = no_such_module\n", SET_ASIDE),
    "names no attribute": ("[benchrunner]\nbad = bad_case:nothing\n", SET_ASIDE),
    "has no value": ("[benchrunner]\nbad\n", "bad"),
    "has the core's name": ("[benchrunner]\ncore = bad_case\n", "core"),
    "names the plugin twice": ("[benchrunner]\nbad = bad_case\nbad = bad_case\n", "mine/mood"),
    "has escapes": ("[benchrunner]\n\x1b[31mbad = no_such_module\n", "set aside"),
    "is not UTF-8": ("[benchrunner]\nbad = bad_case\n\udcff = \udcff\n", "mine/mood"),
}
"""What is wrong with entry_points.txt -> its content, and what must be said."""


def cases() -> Iterator[Case]:
    """Give sound plugins whose distributions have odd or damaged files."""
    for name, file in FILES.items():
        files = (EDITABLE, file)
        yield Case(f"editable plugin with {name}", SOUND, LIST, ("bad/task",), files=files, package=True)
    for name, text in DIRECT_URLS.items():
        yield Case(f"direct_url.json is {name}", SOUND, LIST, ("bad/task",), files=((DIRECT_URL, text),))
    files = (("bad-1.0.dist-info/METADATA", "REMOVED"),)
    yield Case("distribution with no METADATA", SOUND, LIST, ("mine/mood",), files=files)
    for name, (text, said) in ENTRY_POINTS.items():
        files = (("bad-1.0.dist-info/entry_points.txt", text),)
        yield Case(f"entry point that {name}", SOUND + "number = 3\n", LIST, (said,), files=files)
