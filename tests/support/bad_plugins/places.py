"""Places of a plugin where it may fail: its module, the command that gets there, what must be said, the exit codes."""

from __future__ import annotations

from bad_plugins.case import LIST, RUN, SET_ASIDE, registered

Place = tuple[str, tuple[str, ...], tuple[str, ...], tuple[int, ...]]

PROBLEM = "class P(Classify):\n    {}\n" + registered("[task(problem=P(('glad', 'sad')))]")
METHOD = "class M(Bad):\n    {}\n" + registered("[M()]", "methods") + registered("[task(method='bad-method')]")
EXECUTOR = (
    "class E(Executor):\n    name, about = 'bad-executor', 'bad'\n    def run(self, fits, runner):{}\n"
    + registered("[E()]", "executors")
    + registered("[task()]")
)
FAMILY = "class F(BackboneFamily):\n    {}\n    {}\n" + registered("[F()]", "backbones")
COMMAND = "@hooks\ndef register_commands(cli):\n    {}"
PLANNING = "Planning a fit of .* to bad/task with the method '{}' failed"
GO = "benchrunner: The command 'go' of the plugin 'bad' failed"

LOADING: dict[str, Place] = {
    "at import": ("fail()", LIST, (SET_ASIDE,), (0,)),
    "in register_commands": (
        COMMAND.format("cli.add_parser('half').set_defaults(run=print)\n    fail()"),
        LIST,
        ("plugin bad is set aside: register_commands",),
        (0,),
    ),
    **{
        f"in {kind}": (f"@hooks\ndef {kind}():\n    fail()", LIST, (SET_ASIDE,), (0,))
        for kind in ("register_tasks", "register_methods", "register_leaderboards", "register_executors")
    },
    **{
        f"in {kind}": (f"@hooks\ndef {kind}():\n    fail()\n    yield", LIST, (SET_ASIDE,), (0,))
        for kind in ("register_backbones", "register_recipes")
    },
}
"""While the plugin is loaded."""

COMMANDS: dict[str, Place] = {
    "in a command": (
        COMMAND.format("cli.add_parser('go').set_defaults(run=lambda arguments: fail())"),
        ("go",),
        (GO,),
        (1,),
    ),
    "in an estimate": (
        COMMAND.format("cli.add_parser('go').set_defaults(run=print, estimate=lambda arguments: fail())"),
        ("--estimate", "go"),
        (GO,),
        (1,),
    ),
}
"""In what a command calls."""

FAMILIES: dict[str, Place] = {
    "in the list of a family": (
        FAMILY.format("def listed(self): fail()", "def find(self, reference, workspace): pass"),
        LIST,
        (SET_ASIDE,),
        (0,),
    ),
    "in the search of a family": (
        FAMILY.format("def listed(self): return []", "def find(self, reference, workspace): fail()")
        + registered("[task()]"),
        (*RUN, "--method", "finetune", "--backbone", "x/y"),
        ("The plugin 'bad' failed on x/y",),
        (2,),
    ),
}
"""In a family of backbones."""

TASKS: dict[str, Place] = {
    "in a source": (
        "def read(workspace): fail()\n"
        + registered("[task(splits={'train': rows('train'), 'dev': Split('dev', (RowsFrom(read),))})]"),
        RUN,
        ("The source RowsFrom of bad/task, split 'dev', failed",),
        (1,),
    ),
    "in the check of rows": (
        PROBLEM.format("def check(self, rows, *, labelled): fail()"),
        RUN,
        ("The check of the rows of bad/task, split 'train', failed",),
        (1,),
    ),
    "in the identity of a problem": (
        PROBLEM.format("def identity(self): fail()"),
        RUN,
        (PLANNING.format("majority"),),
        (1,),
    ),
    "in decoding": (
        PROBLEM.format("def decode(self, outputs, table, settings): fail()"),
        RUN,
        ("traceback.txt",),
        (1,),
    ),
    "in a metric": (
        "def compute(gold, predicted): fail()\n" + registered("[task(metrics=(Metric('m', compute),))]"),
        RUN,
        ("traceback.txt",),
        (1,),
    ),
}
"""In what a task brings."""

METHODS: dict[str, Place] = {
    "in a method's check": (
        METHOD.format("def check(self, problem): fail()"),
        RUN,
        (PLANNING.format("bad-method"),),
        (1,),
    ),
    "in fit": (METHOD.format("def fit(self, job): fail()"), RUN, ("traceback.txt",), (1,)),
    "in predict": (METHOD.format("def predict(self, job, table): fail()"), RUN, ("traceback.txt",), (1,)),
}
"""In a method."""

EXECUTORS: dict[str, Place] = {
    "in an executor": (
        EXECUTOR.format(" fail()"),
        (*RUN, "--executor", "bad-executor"),
        ("The executor 'bad-executor' failed",),
        (1,),
    ),
    "in an executor between fits": (
        EXECUTOR.format(
            "\n        for fit in fits:\n            fail()\n            yield fit, runner.run(fit)",
        ),
        (*RUN, "--executor", "bad-executor"),
        ("The executor 'bad-executor' failed",),
        (1,),
    ),
}
"""In an executor."""

OBSERVERS: dict[str, Place] = {
    "in on_fit_error": (
        METHOD.format("def fit(self, job): raise ValueError('of the fit')") + "@hooks\ndef on_fit_error(fit): fail()\n",
        RUN,
        ("The observer on_fit_error of plugin 'bad' failed", "ValueError: of the fit"),
        (1,),
    ),
    **{
        f"in {kind}": (
            f"@hooks\ndef {kind}(): fail()\n" + registered("[task()]"),
            RUN,
            (f"The observer {kind} of plugin 'bad' failed",),
            (0,),
        )
        for kind in ("before_study", "before_fit", "after_fit", "after_predict", "after_study")
    },
}
"""In what is called as a study goes on."""

PLACES = {**LOADING, **COMMANDS, **FAMILIES, **TASKS, **METHODS, **EXECUTORS, **OBSERVERS}
