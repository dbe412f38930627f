"""Fine-tune, evaluate and submit language-model backbones.

There are three public modules: `benchrunner` for authors of tasks and leaderboards, `benchrunner.engine` for authors of
backbones, methods and problems, and `benchrunner.results` for whoever runs studies and reads what they found:

    from benchrunner import Workspace
    from benchrunner.results import Runner, StudyOptions, discover, predict, run_study

    plugins = discover()
    runner = Runner(plugins, Workspace.from_environment())
    tasks = tuple(plugins.tasks_of(["mine/mood"]))
    study = StudyOptions(restarts=3).study(("mine/words", "another/words"), tasks, runner)
    result = run_study(study, runner)
    for cell in result.cells:
        print(cell.cell.system, {term.metric: figure.mean.value for term, figure in cell.figures.items()})
    answers = predict(result.cells[0].selected, "test", runner).answers

Each only names what is public; everything is defined elsewhere, and imported when its name is used for the first time.
The names stand in the stub beside the module (`__init__.pyi`), which type checkers read, too.
"""

from benchrunner.public_names import named_by_stub

__version__ = "0.1.0"

__getattr__, __all__ = named_by_stub(__name__, __file__)
