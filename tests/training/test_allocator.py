"""Memory that a process keeps after it was freed."""

import platform

import pytest

import forked

STEPS = """
import resource, torch
from benchrunner.training.memory import keep_freed_memory
torch.set_num_threads(1)
def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for step in range(5):
        torch.ones(4, 2**22).sum()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
faults()
print(faults(), keep_freed_memory(), [faults() for _ in range(4)][-1])  # the heap grows in the first steps
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
def test_steps_after_the_first_few_ask_for_no_new_pages() -> None:
    done = forked.run(["-c", STEPS])
    before, kept, after = done.stdout.split()
    assert kept == "True"
    assert int(after) < int(before) / 10
