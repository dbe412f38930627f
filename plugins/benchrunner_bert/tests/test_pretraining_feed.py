"""Batches that other processes make ahead: the same, in the same steps, and no process is left behind."""

from __future__ import annotations

import os
import pickle
import signal
import time
from pathlib import Path

import pytest
from numbered_instances import feed
from pretraining_runs import STOPPING, environment, learned, weights, words

import forked
from benchrunner_bert.pretraining.corpus.token_store import TokenStore
from benchrunner_bert.pretraining.training.feed import made_ahead

AHEAD = f"""
from benchrunner_bert.pretraining.training import loop
loop.makers = lambda device: 1
{STOPPING}
"""
"""Runs a command line as on an accelerator; a signal stops it after a step. A maker imports torch: 2 s."""


def run(folder: Path, out: str, code: str, *, stop: int = 0) -> int:
    asked = words(folder, out, "--checkpoint-steps", "2", steps=8)
    arguments = ["-c", code, str(stop), str(int(signal.SIGINT)), *asked[1:]]
    return forked.Process(arguments, env=environment()).wait()


def ends(process: int, seconds: float = 30) -> bool:
    for _ in range(int(seconds * 20)):
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


def test_other_processes_make_the_steps_in_their_order() -> None:
    """An error of a process is raised in its step, and ends all processes."""
    steps = made_ahead(feed(broken=13), range(3, 8), 2)
    made = [next(steps)[0].features.tokens.reshape(2, 2) for _ in range(3)]
    assert [tokens[:, 0].tolist() for tokens in made] == [[6, 7], [8, 9], [10, 11]]
    makers = {int(process) for tokens in made for process in tokens[:, 1]}
    assert len(makers) == 2 and os.getpid() not in makers
    with pytest.raises(OSError, match=r"^the disk is gone$"):
        next(steps)
    assert all(map(ends, makers))


WORKING = "print(*next(steps)[0].features.tokens[1::2], flush=True)"
BEGINNING = """threading.Thread(target=next, args=(steps,)).start()
while not multiprocessing.active_children():
    time.sleep(0.01)
print(*(maker.pid for maker in multiprocessing.active_children()), flush=True)"""
KILLED = """
import multiprocessing, os, signal, threading, time
from numbered_instances import feed
from benchrunner_bert.pretraining.training.feed import made_ahead
steps = made_ahead(feed(), range(9), 1)
{}
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("reached", [WORKING, BEGINNING], ids=["working", "beginning"])
def test_the_makers_of_a_killed_process_end(reached: str) -> None:
    folders = [str(Path(file).parent) for file in (__file__, forked.__file__)]
    code = KILLED.format(reached)
    ended = forked.run(["-c", code], env={**os.environ, "PYTHONPATH": os.pathsep.join(folders)})
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    makers = set(map(int, ended.stdout.splitlines()[-1].split()))  # DeepSpeed also writes
    assert makers and all(map(ends, makers))


def test_runs_with_batches_made_ahead_have_the_same_bits(tmp_path: Path) -> None:
    """Up to Ctrl-C; as a run on a CPU goes on from there."""
    assert run(tmp_path, "plain", STOPPING) == 0
    store = TokenStore.open(next(path.parent for path in tmp_path.rglob("manifest.json")))
    content = pickle.dumps(store)  # as it travels to a maker: its folder
    assert len(content) < store.tokens * 2
    assert (pickle.loads(content).read(0, store.tokens) == store.read(0, store.tokens)).all()
    assert run(tmp_path, "stopped", AHEAD, stop=3) == 130
    assert run(tmp_path, "stopped", STOPPING) == 0
    assert weights(tmp_path / "stopped") == weights(tmp_path / "plain")
    assert learned(tmp_path / "stopped") == learned(tmp_path / "plain")
