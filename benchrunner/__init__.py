"""Fine-tune, evaluate and submit language-model backbones.

There are three public modules: `benchrunner` for authors of tasks and leaderboards, `benchrunner.engine` for authors of
backbones, methods and problems, and `benchrunner.results` for whoever runs studies and reads what they found:

    from benchrunner import Workspace
    from benchrunner.results import Runner, compared, discover, predict, run_study

    plugins = discover()
    runner = Runner(plugins, Workspace.from_environment())
    tasks = tuple(plugins.tasks_of(["mine/mood"]))
    study = compared(("mine/words", "another/words"), tasks, seeds=(0, 1, 2))
    result = run_study(study, runner)
    for cell in result.cells:
        print(cell.cell.system, {term.metric: figure.mean.value for term, figure in cell.figures.items()})
    answers = predict(result.cells[0].selected, "test", runner).answers

Each only names what is public; everything is defined elsewhere, and imported when its name is used for the first time.
The names stand in the stub beside the module (`__init__.pyi`), which type checkers read, too.
"""

import ast
import functools
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

__version__ = "0.1.0"


def named_by_stub(module: str, file: str) -> tuple[Callable[[str], object], list[str]]:
    """Return `__getattr__` (PEP 562) and `__all__` of a module that names what the stub beside its file imports."""
    homes: dict[str, str] = {}
    for node in ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            homes |= {alias.name: node.module for alias in node.names}

    @functools.cache
    def value_of(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module '{module}' has no attribute '{name}'")
        home = import_module(homes[name])
        # A module may be a name, too: `seals` of `benchrunner.io`.
        return getattr(home, name) if hasattr(home, name) else import_module(f"{homes[name]}.{name}")

    return value_of, sorted(homes)


__getattr__, __all__ = named_by_stub(__name__, __file__)
