"""For plugin authors: checks that a plugin's values keep their contracts, and a tiny task and encoder for unit tests.

    from benchrunner_kit.testing import check_backbone, check_task

    def test_my_task(tmp_path):
        check_task(mood, tmp_path)

A check raises `PluginError` with all faults that it found. The package needs no network and no installed plugin.
"""

from benchrunner_kit.testing.backbone_checks import check_backbone
from benchrunner_kit.testing.leaderboard_checks import check_leaderboard
from benchrunner_kit.testing.method_checks import check_method
from benchrunner_kit.testing.problem_checks import check_problem
from benchrunner_kit.testing.samples import MOOD, sentences
from benchrunner_kit.testing.task_checks import check_task
from benchrunner_kit.testing.tiny_encoder import WEIGHTS, TinyBackbone, TinyEncoder, tiny_family

__all__ = [
    "MOOD",
    "WEIGHTS",
    "TinyBackbone",
    "TinyEncoder",
    "check_backbone",
    "check_leaderboard",
    "check_method",
    "check_problem",
    "check_task",
    "sentences",
    "tiny_family",
]
