"""Fits that are compared: on one device, on two, and after a helper was killed."""

import json
import os
import signal
from typing import Any

import pytest

from benchrunner import Recipe
from benchrunner.results import Event, Fit, Record, Runner
from benchrunner_devices import leader
from cluster_plugin import Home

RECIPE = Recipe(lr=0.02, epochs=4, batch_size=16, micro_tokens=60, context="sentence", dropout=0.1)
CLOSE = 1e-5


def planned(made: Runner, task: str, backbone: str = "tiny/words", method: str = "finetune", **changes: Any) -> Fit:
    return made.planner.plan(
        made.plugins.tasks.find(task), backbone, method=method, recipe=RECIPE.changed(**changes), seed=3
    )


def losses(made: Runner, fit: Fit) -> list[float]:
    """Read the loss of every step."""
    return [json.loads(line)["loss"] for line in made.folder(fit).log.read_text().splitlines()]


def fitted(home: Home, task: str, devices: int, **changes: Any) -> tuple[Runner, Fit, Record]:
    """Fit on so many devices in a folder of this name, unless that was done before."""
    made = home.runner(f"{task}-{changes}-{devices}".replace("/", "-"), devices=devices)
    fit = planned(made, task, **changes)
    return made, fit, made.run(fit)


def check_equal(home: Home, task: str, *, close: float = CLOSE, **changes: Any) -> tuple[Record, Record]:
    """Fit on one device and on two, with losses that are equal up to `close`; return the records.

    Weights may differ: Adam makes large steps of the rounding errors of a gradient that is 0, such as that of a bias
    which all choices share.
    """
    records = []
    found = []
    for devices in (1, 2):
        made, fit, record = fitted(home, task, devices, **changes)
        records.append(record)
        assert records[-1].status == "done", records[-1].reason
        assert records[-1].numerics["devices"] == devices
        found.append(losses(made, fit))
    one, two = found
    assert len(one) > 10 and len(set(one)) == len(one)
    assert two == pytest.approx(one, abs=close)
    return records[0], records[1]


def killed(made: Runner, fit: Fit, step: int, monkeypatch: pytest.MonkeyPatch) -> Record:
    """Kill the helper of a fit after a step; return the record that is left."""
    helpers: list[leader.Helper] = []
    send = leader.Helper.send

    def noted(helper: leader.Helper, message: object) -> None:
        helpers.append(helper)
        send(helper, message)

    def report(of: Fit, event: Event) -> None:
        if event.kind == "step" and event.done == step:
            os.kill(helpers[-1].process.pid, signal.SIGKILL)

    with monkeypatch.context() as patch, made.observers.reporting_to(report):
        patch.setattr(leader.Helper, "send", noted)
        record = made.run(fit)
    assert helpers[-1].process.poll() == -signal.SIGKILL
    return record
