"""For plugin authors: checks that a task or a backbone keeps its contract, and a tiny task and encoder for unit tests.

    from benchrunner.testing import check_backbone, check_task

    def test_my_task(tmp_path):
        check_task(mood, tmp_path)

A check raises `PluginError` with all faults that it found. The package needs no network and no installed plugin.
"""

from benchrunner.testing.backbone_checks import check_backbone
from benchrunner.testing.moods import MOOD, sentences
from benchrunner.testing.task_checks import check_task
from benchrunner.testing.tiny_backbone import TinyBackbone, tiny_family
from benchrunner.testing.tiny_encoder import WEIGHTS, TinyEncoder

__all__ = [
    "MOOD",
    "WEIGHTS",
    "TinyBackbone",
    "TinyEncoder",
    "check_backbone",
    "check_task",
    "sentences",
    "tiny_family",
]
