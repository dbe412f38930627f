"""Steps through DeepSpeed's engine: bf16 reaches the model on whatever device, and the host waits for no value."""

from __future__ import annotations

import json
from pathlib import Path

from pretraining_runs import COMMAND, corpus, environment, words

import forked

AS_ON_CUDA = f"""
import json, sys, torch
from deepspeed.runtime import torch_autocast
class Torch:
    '''torch, in which the engine's check of a surrounding autocast sees the CPU's: it looks for CUDA's alone.'''
    is_autocast_enabled = staticmethod(lambda: torch.is_autocast_enabled("cpu"))
    def __getattr__(self, name):
        return getattr(torch, name)
torch_autocast.torch = Torch()
kinds = set()
def note(module, arguments, result):
    if isinstance(module, torch.nn.Linear):
        kinds.add(str(result.dtype))
torch.nn.modules.module.register_module_forward_hook(note)
file = sys.argv[1]
try:
    exec({COMMAND!r})
finally:
    open(file, "w").write(json.dumps(sorted(kinds)))
"""
"""Runs a command line with an engine that treats the CPU as it treats CUDA; writes the types of all linear outputs."""


def kinds_in_the_engine(folder: Path, precision: str) -> list[str]:
    corpus(folder / "corpus")
    asked = words(folder, precision, "--precision", precision, steps=1)
    done = forked.run(["-c", AS_ON_CUDA, str(folder / "kinds.json"), *asked[1:]], env=environment())
    assert done.returncode == 0, done.stderr[-3000:]
    read: list[str] = json.loads((folder / "kinds.json").read_text())
    return read


def test_states_inside_the_engine_have_the_precision_asked(tmp_path: Path) -> None:
    assert kinds_in_the_engine(tmp_path, "bf16") == ["torch.bfloat16"]
    assert kinds_in_the_engine(tmp_path, "fp32") == ["torch.float32"]


READS = f"""
import json, sys, torch
from torch.utils._python_dispatch import TorchDispatchMode
from benchrunner_bert.pretraining.training.loop import TrainingLoop
reads = []
class Reads(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, arguments=(), options=None):
        name = function.overloadpacket.__name__
        if name in ("_local_scalar_dense", "nonzero", "masked_select", "is_nonzero", "equal"):
            reads.append(name)
        return function(*arguments, **(options or {{}}))
learn = TrainingLoop._learn
def watched(self, *arguments, **options):
    with Reads():
        return learn(self, *arguments, **options)
TrainingLoop._learn = watched
file = sys.argv[1]
try:
    exec({COMMAND!r})
finally:
    open(file, "w").write(json.dumps(reads))
"""
"""Runs a command line; writes the operators of training steps for whose results the host of a GPU would wait."""


def test_a_step_through_the_engine_reads_no_value_back(tmp_path: Path) -> None:
    """Also not in DeepSpeed."""
    asked = words(tmp_path, "out", "--log-steps", "3", "--no-kernels", steps=3)
    done = forked.run(["-c", READS, str(tmp_path / "reads.json"), *asked[1:]], env=environment())
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads((tmp_path / "reads.json").read_text()) == []
