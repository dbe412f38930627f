"""Plugins whose commands are wrong, or change the commands of the core."""

from collections.abc import Iterator

from bad_plugins.case import SET_ASIDE, Case, wrong
from bad_plugins.places import COMMAND

GO = ("go",)
RETURNED = {
    "a text": "'done'",
    "a number above 255": "1000",
    "an object": "object()",
}
"""What a command returns in the place of an exit code."""

REFUSED = {
    "removes a core command": "del cli.choices['list']",
    "replaces a core command": "cli.add_parser('list').set_defaults(run=print)",
    "has no run": "cli.add_parser('go')",
    "has a text as its run": "cli.add_parser('go').set_defaults(run='go')",
    "has a number as its name": "cli.add_parser(3).set_defaults(run=print)",
    "has a name with escapes": "cli.add_parser('\\x1b[31m').set_defaults(run=print)",
}
"""What a command does or is, for which its plugin is set aside -> the line of `register_commands`."""

HELPS = {
    "help with %s": "'%s %(nope)s %d'",
    "help with escapes": "'\\x1b[31mred'",
    "help of 1 MB": "'x' * 10**6",
}
"""Text in the list of all commands."""

OPTIONS = {
    "option with % in its help": ("help='100% of %s'", "100% of", ("go", "--help"), (0,)),
    "option whose type fails": ("type=lambda text: {}[text]", "plugin|option|--all|go", ("go", "--all", "1"), (1, 2)),
}
"""Option of a command -> how it is added, what must be said, the command line, and the exit codes."""


def running(function: str, more: str = "") -> str:
    """Write the hook of a command that calls this function."""
    return COMMAND.format(f"cli.add_parser('go').set_defaults(run={function}{more})")


def cases() -> Iterator[Case]:
    """Give commands with wrong results, wrong parsers and wrong texts of help."""
    yield from _ending()
    for name, line in REFUSED.items():
        yield wrong(f"command that {name}", COMMAND.format(line), "plugin bad is set aside: register_commands")
    beside = f"cli.add_parser('fine').set_defaults(run=lambda arguments: None); {REFUSED['has no run']}"
    yield wrong("command beside one without a run", COMMAND.format(beside), "command 'go' has no", ("fine",))
    yield wrong("command without a run, asked for", COMMAND.format(beside), SET_ASIDE, GO, (2,))
    for name, text in HELPS.items():
        source = COMMAND.format(f"cli.add_parser('go', help={text}).set_defaults(run=print)")
        yield wrong(f"command with {name}", source, "list +list tasks", ("--help",))
    for name, (option, said, words, codes) in OPTIONS.items():
        added = f"p = cli.add_parser('go'); p.set_defaults(run=print); p.add_argument('--all', {option})"
        yield wrong(name, COMMAND.format(added), said, words, codes)


def _ending() -> Iterator[Case]:
    """Give commands that end in another way than with an exit code."""
    ends = running("lambda arguments: exit({})")
    yield wrong("command that ends with sys.exit(3)", ends.format("3"), "^", GO, (3,))
    yield wrong("command that ends with a text", ends.format("'oops \\x1b[31m'"), "oops", GO, (1,))
    for name, value in RETURNED.items():
        said = "The command 'go' of the plugin 'bad' returned .*, where an exit code"
        yield wrong(f"command that returns {name}", running(f"lambda arguments: {value}"), said, GO, (1,))
    yield wrong("command that returns True", running("lambda arguments: True"), "^", GO, (1,))
    yield wrong("command that prints for --json", running("lambda arguments: print('{}')"), r"\{\}", GO)
    yield wrong(
        "estimate of a text",
        running("print", ", estimate=lambda arguments: 'an hour'"),
        "The estimate of The command 'go'|The estimate of the command 'go'",
        ("--estimate", "go"),
        (1,),
    )
