"""Kit for plugin authors: contract checks, the commands `new` and `demo`, and a tiny task and encoder for tests."""

from __future__ import annotations

from benchrunner import Commands, hookimpl


@hookimpl
def register_commands(cli: Commands) -> None:
    about = "show what benchrunner is for on small data, within a minute"
    cli.add_parser("demo", group="start", help=about, module="benchrunner_kit.demo_command")
    about = "write the package of a new plugin, with tests that pass"
    cli.add_parser("new", group="extend", help=about, module="benchrunner_kit.new_command")
