"""Plugins whose methods are wrong or return something else than they must."""

from collections.abc import Iterator

from bad_plugins.case import RUN, SET_ASIDE, Case, registered, wrong
from bad_plugins.places import METHOD

OFFER = registered("[M()]", "methods")
FIELDS = {
    "about None": "about = None",
    "about deleted": "about = property(lambda self: 1 / 0)",
    "name None": "name = None",
    "needs_backbone of a text": "needs_backbone = 'no'",
    "the name of one of the core's": "name = 'majority'",
}
"""What is changed in a method -> the line of its class."""

FIT, PREDICT = "def fit(self, job): return ", "def predict(self, job, table): return "
NUMPY = "def predict(self, job, table):\n        import numpy\n        return numpy."
CULPRIT = "bad-method|bad/task|traceback"
RETURNED = {
    "fit that returns None": (f"{FIT}None", "'bad-method' returned None, not an Outcome"),
    "fit with an unknown status": (f"{FIT}Outcome(status='perfect')", "bad-method|perfect"),
    "fit with an endless time": (f"{FIT}Outcome(timings={{'wait': 1e999}})", "bad-method|timings.wait: expected a"),
    "predict that returns None": (f"{PREDICT}None", "gave None outputs|bad-method"),
    "predict with too few rows": (f"{NUMPY}ones((1, 2))", "1 outputs, where 3 were expected"),
    "predict of another shape": (f"{NUMPY}ones((3, 7))", CULPRIT),
    "predict of objects": (f"{NUMPY}array([None] * 3)", CULPRIT),
}
"""What a method returns -> its code, and what must be said."""


def cases() -> Iterator[Case]:
    """Give methods with wrong fields, without a method of the class, and with wrong results."""
    for name, line in FIELDS.items():
        yield wrong(f"method with {name}", f"class M(Bad):\n    {line}\n{OFFER}", SET_ASIDE)
    fit, predict = "    def fit(self, job): ...\n", "    def predict(self, job, table): ...\n"
    yield wrong(
        "method without about",
        f"class M(Method):\n    name = 'm'\n{fit}{predict}{OFFER}",
        "the method 'm' needs a text as its about",
    )
    yield wrong(
        "method without predict",
        f"class M(Method):\n    name, about = 'm', 'm'\n{fit}{OFFER}",
        SET_ASIDE,
    )
    for name, (line, said) in RETURNED.items():
        yield wrong(name, METHOD.format(line), said, RUN, (1,))
