"""Every task can be learned from its demo data, and a submission follows, with the tiny encoder."""

from __future__ import annotations

from pathlib import Path

import pytest

import benchrunner_babylm
from learned_demo import learned_tasks


@pytest.mark.slow
def test_every_task_is_learned_and_submitted(tmp_path: Path) -> None:
    assert len(learned_tasks("babylm", benchrunner_babylm, tmp_path)) == 7
