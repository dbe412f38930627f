"""Places of a plugin where it may fail: its module, the command that gets there, what must be said, the exit codes."""

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
IN_A_FIT = r"The plugin 'bad' failed: \w+.* \(\S+bad_case.py:\d+\) \(see \S+traceback.txt\)"
GO = "benchrunner: The command 'go' of the plugin 'bad' failed"


def loading(code: str, said: str = SET_ASIDE) -> Place:
    """Make a place that is met while the plugin is loaded."""
    return code, LIST, (said,), (0,)


def command(more: str, *words: str) -> Place:
    """Make a place in a command `go` that is added with further settings."""
    return COMMAND.format(f"cli.add_parser('go').set_defaults({more})"), words, (GO,), (1,)


def fitted(code: str, said: str = IN_A_FIT, words: tuple[str, ...] = RUN, exit_code: int = 1) -> Place:
    """Make a place that is met in a run of the plugin's task."""
    return code, words, (said,), (exit_code,)


SEARCH = FAMILY.format("def listed(self): return []", "def find(self, reference, workspace): fail()")
SEARCHED = (*RUN, "--method", "finetune", "--backbone", "x/y")
SOURCE = "def read(workspace): fail()\n" + registered(
    "[task(splits={'train': rows('train'), 'dev': Split('dev', (RowsFrom(read),))})]"
)
METRIC = "def compute(gold, predicted): fail()\n" + registered("[task(metrics=(Metric('m', compute),))]")
BETWEEN_FITS = "\n        for fit in fits:\n            fail()\n            yield fit, runner.run(fit)"
EXECUTED = (*RUN, "--executor", "bad-executor")
HEAD = (
    "import torch\n"
    "from benchrunner.engine import Finetune\n"
    "from benchrunner_kit.testing import tiny_family\n"
    "class H(torch.nn.Module):\n    level = 'sequence'\n    def forward(self, encoder, batch): fail()\n"
    + registered("[tiny_family()]", "backbones")
    + registered("[Finetune('bad-head', 'bad', fresh_head=lambda encoder, job: H())]", "methods")
    + registered("[task(method='bad-head')]")
)
HEADED = (*RUN, "--backbone", "tiny/words", "--epochs", "1", "--batch-size", "2", "--lr", "0.01")
FAILED_FIT = METHOD.format("def fit(self, job): raise ValueError('of the fit')")
HALF = COMMAND.format("cli.add_parser('half').set_defaults(run=print)\n    fail()")

PLACES: dict[str, Place] = {
    "at import": loading("fail()"),
    "in register_commands": loading(HALF, "plugin bad is set aside: register_commands"),
    "in register_tasks": loading("@hooks\ndef register_tasks():\n    fail()"),
    "in register_executors": loading("@hooks\ndef register_executors():\n    fail()"),
    "in register_backbones": loading("@hooks\ndef register_backbones():\n    fail()\n    yield"),
    "in a command": command("run=lambda arguments: fail()", "go"),
    "in an estimate": command("run=print, estimate=lambda arguments: fail()", "--estimate", "go"),
    "in the list of a family": loading(
        FAMILY.format("def listed(self): fail()", "def find(self, reference, workspace): pass")
    ),
    "in the search of a family": fitted(
        SEARCH + registered("[task()]"), "The plugin 'bad' failed on x/y", SEARCHED, exit_code=2
    ),
    "in a source": fitted(SOURCE, "The source RowsFrom of bad/task, split 'dev', failed"),
    "in the check of rows": fitted(
        PROBLEM.format("def check(self, rows, *, labelled): fail()"),
        "The check of the rows of bad/task, split 'train', failed",
    ),
    "in the identity of a problem": fitted(PROBLEM.format("def identity(self): fail()"), PLANNING.format("majority")),
    "in decoding": fitted(PROBLEM.format("def decode(self, outputs, table, settings): fail()")),
    "in a metric": fitted(METRIC),
    "in a method's check": fitted(METHOD.format("def check(self, problem): fail()"), PLANNING.format("bad-method")),
    "in fit": fitted(METHOD.format("def fit(self, job): fail()")),
    "in predict": fitted(METHOD.format("def predict(self, job, table): fail()")),
    "in an executor": fitted(EXECUTOR.format(" fail()"), "The executor 'bad-executor' failed", EXECUTED),
    "in an executor between fits": fitted(
        EXECUTOR.format(BETWEEN_FITS), "The executor 'bad-executor' failed", EXECUTED
    ),
    "in on_fit_error": (
        FAILED_FIT + "@hooks\ndef on_fit_error(fit): fail()\n",
        RUN,
        ("The observer on_fit_error of plugin 'bad' failed", "ValueError: of the fit"),
        (1,),
    ),
}
for observer in ("before_study", "after_fit", "after_predict"):
    PLACES[f"in {observer}"] = fitted(
        f"@hooks\ndef {observer}(): fail()\n" + registered("[task()]"),
        f"The observer {observer} of plugin 'bad' failed",
        exit_code=0,
    )
PLACES["in the head of a method"] = fitted(HEAD, f"{IN_A_FIT}|Out of memory on cpu", HEADED)  # as of a MemoryError
