"""Plugins whose executors are wrong or yield something else than fits with their records."""

from collections.abc import Iterator

from bad_plugins.case import RUN, SET_ASIDE, Case, registered, wrong

OFFER = registered("[E()]", "executors")
FIELDS = {"about": "about = None", "a name": "name = None", "a sound name": "name = 'a\\x1bb'"}
"""What an executor lacks -> the line of its class."""

RUNS = {
    "returns None": "pass",
    "yields None": "yield None",
    "yields a fit alone": "yield next(iter(fits))",
    "yields nothing": "yield from ()",
    "yields a foreign fit": "import dataclasses\n        for fit in fits:\n            record = runner.run(fit)\n"
    "            yield dataclasses.replace(fit, seed=99), record",
    "yields a foreign record": "import dataclasses\n        for fit in fits:\n"
    "            yield fit, dataclasses.replace(runner.run(fit), id='0' * 16)",
    "yields a fit twice": "for fit in 2 * list(fits):\n            yield fit, runner.run(fit)",
}
"""What an executor does -> the code of its `run`."""

WITHOUT = ("returns None", "yields None", "yields nothing")
"""Those that give no record."""


def cases() -> Iterator[Case]:
    """Give executors with wrong fields and with wrong results."""
    header = "class E(Executor):\n    name, about = 'e', 'e'\n    def run(self, fits, runner):"
    for name, line in FIELDS.items():
        yield wrong(f"executor without {name}", f"{header} ...\n    {line}\n{OFFER}", SET_ASIDE)
    for name, code in RUNS.items():
        source = f"{header}\n        {code}\n{OFFER}" + registered("[task()]")
        said = "executor 'e' gave no record of 1 of 1 fits" if name in WITHOUT else "executor 'e'"
        yield wrong(f"executor that {name}", source, said, (*RUN, "--executor", "e"), (1,))
