"""Fine-tune, evaluate and submit language-model backbones.

Everything the command line does can be done from here:

    from benchrunner import Runner, Study, Workspace, discover, predict, run_study

    plugins = discover()
    runner = Runner(plugins, Workspace.from_environment())
    tasks = tuple(plugins.tasks_of(["mine/mood"]))
    study = Study(("mine/words", "another/words"), tasks, seeds=(0, 1, 2))
    result = run_study(study, runner)
    for cell in result.cells:
        print(cell.cell.backbone, {term.metric: spread.mean.value for term, spread in cell.spreads.items()})
    answers = predict(result.cells[0].selected, "test", runner).answers

This module only names what is public; everything is defined elsewhere. Importing it loads neither torch nor numpy, and
the names that only programs use (`_LATER`) are imported at their first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from benchrunner.backbones.backbone import Backbone, BackboneFamily, OneBackbone
from benchrunner.backbones.export_kind import ExportKind
from benchrunner.backbones.hub_files import download_checkpoint, download_hub_file, shard_files
from benchrunner.console.printing import print_line, print_note
from benchrunner.data.delimited import TextTable
from benchrunner.data.hub import HubTable
from benchrunner.data.iob_tags import OUTSIDE, as_iob2, begins_phrase, iob_labels
from benchrunner.data.json_lines import JsonTable
from benchrunner.data.rows import Rows
from benchrunner.data.sources import DataNotFound, Filtered, Reshaped, RowsFrom, Source, find_file, searched_paths
from benchrunner.data.word_columns import WordColumns
from benchrunner.errors import (
    BadRows,
    BenchrunnerError,
    CheckpointError,
    DamagedFile,
    DataError,
    Diverged,
    FitError,
    PluginError,
    RequestError,
    Undefined,
    UnknownName,
    closest_names,
    first_line,
    last_line,
)
from benchrunner.fits.computing import Computing
from benchrunner.fits.estimates import CommandEstimate
from benchrunner.fits.executor import Executor, FitCost, FitRunner
from benchrunner.fits.fit import Fit, Prediction
from benchrunner.fits.progress import Event
from benchrunner.fits.record import Record
from benchrunner.io.file_faults import Faults, quoted
from benchrunner.io.files import (
    is_disk_full,
    read_text,
    write_atomically,
    write_folder_atomically,
    write_json,
)
from benchrunner.io.json_files import find_json_object, read_json, read_json_object
from benchrunner.io.output_places import check_place
from benchrunner.io.seals import check_files, file_checksum, find_sealed, folder_checksums, read_sealed, write_sealed
from benchrunner.leaderboards.board_toml import read_leaderboard
from benchrunner.leaderboards.checking import find_faults
from benchrunner.leaderboards.file_kinds.columns_file import Columns
from benchrunner.leaderboards.file_kinds.file_kind import Answers, ExpectedRows, FileKind
from benchrunner.leaderboards.file_kinds.json_file import JsonMap
from benchrunner.leaderboards.file_kinds.json_lines_file import JsonLines
from benchrunner.leaderboards.file_kinds.json_values import JsonValues
from benchrunner.leaderboards.file_kinds.label_lists import LabelList
from benchrunner.leaderboards.file_kinds.lines_file import Lines
from benchrunner.leaderboards.file_kinds.spellings import Labels, Number, Spelling, Text
from benchrunner.leaderboards.file_kinds.table_file import Table
from benchrunner.leaderboards.leaderboard import BoardFile, Leaderboard
from benchrunner.leaderboards.manifests import read_manifest
from benchrunner.leaderboards.published import PublishedColumn, PublishedFigure, PublishedRow
from benchrunner.leaderboards.published_choice import PublishedChoice, choose_published
from benchrunner.leaderboards.writing import write_answers
from benchrunner.methods.finetune import Finetune
from benchrunner.methods.method import Job, Method, Outcome
from benchrunner.metrics.classification import (
    ACCURACY,
    BALANCED_ACCURACY,
    EXACT_MATCH,
    MATTHEWS,
    RIGHT_CHOICE,
    f1,
    f1_macro,
    f1_micro,
    f1_samples,
    f1_weighted,
)
from benchrunner.metrics.correlation import PEARSON, SPEARMAN
from benchrunner.metrics.groups import exact_match_of_groups, mean_of_groups, reciprocal_rank_of_groups
from benchrunner.metrics.metric import GoldRow, Metric, Score, score
from benchrunner.metrics.ranking import MEAN_RECIPROCAL_RANK, average_precision, mean_reciprocal_rank, roc_auc
from benchrunner.metrics.weighting import RowSums
from benchrunner.parameters.method_parameters import MethodParameter
from benchrunner.parameters.named_recipes import NamedRecipe
from benchrunner.parameters.recipes import GRIDS, Grid, Recipe
from benchrunner.parameters.text_settings import read_settings
from benchrunner.plugins.discovery import discover
from benchrunner.plugins.hookspecs import hookimpl
from benchrunner.plugins.listing import Listed, list_offers
from benchrunner.plugins.registry import Plugins
from benchrunner.problems.candidates import Candidates
from benchrunner.problems.choose import Choose
from benchrunner.problems.marked_words import ClassifyWords
from benchrunner.problems.multi_label import MultiLabel
from benchrunner.problems.problem import HeadShape, Problem
from benchrunner.problems.sentences import Classify, Regress, SentenceProblem
from benchrunner.problems.span import Span
from benchrunner.problems.tag import Tag
from benchrunner.process.interrupts import HeldBack
from benchrunner.process.platform_facts import flush_to_disk, memory_size
from benchrunner.tasks.data_status import SplitStatus, data_status
from benchrunner.tasks.scorers import Scored, Scorer
from benchrunner.tasks.suites import Average, Suite, Term
from benchrunner.tasks.task import Role, Split, Task
from benchrunner.workspace import Settings, Workspace

if TYPE_CHECKING:
    from benchrunner.command_line import options, output
    from benchrunner.plugins.diagnosis import Diagnosis, diagnose
    from benchrunner.reports.rendering import write_report
    from benchrunner.runs.answering import Answered, Ensemble, answer, write_board_files
    from benchrunner.runs.exporting import export
    from benchrunner.runs.file_scores import FileScores, score_file
    from benchrunner.runs.inventory.details import RunDetails, RunDifference, diff_runs, run_details
    from benchrunner.runs.inventory.sizes import Sizes
    from benchrunner.runs.inventory.summaries import RunSummary, chosen_runs, list_runs, sorted_runs
    from benchrunner.runs.local_executor import Local
    from benchrunner.runs.orders import FitAnswer, FitOrder
    from benchrunner.runs.planner import Planner
    from benchrunner.runs.predicting import Predicted, predict
    from benchrunner.runs.runner import Runner
    from benchrunner.runs.sending import SentFits, send_fits
    from benchrunner.sharing.share import Shared, share_study
    from benchrunner.sharing.verify import Verification, verify_folder
    from benchrunner.statistics import (
        Comparison,
        Interval,
        example_interval,
        expected_best,
        holm,
        paired_test,
        restart_interval,
    )
    from benchrunner.studies.kept.finished_runs import result_of_runs
    from benchrunner.studies.kept.kept_study import KeptStudy, find_study, kept_studies
    from benchrunner.studies.kept.removal import Removal, disk_usage, prune_runs, remove_runs
    from benchrunner.studies.study import Result, Selection, Study
    from benchrunner.studies.study_options import StudyOptions
    from benchrunner.studies.study_run import run_study
    from benchrunner.studies.submission_check import CheckedSubmission, check_submission
    from benchrunner.studies.submissions import Submission, write_submission
    from benchrunner.study_files.dry_run import DryRun, dry_run_study, dry_run_study_file
    from benchrunner.study_files.kept_study_file import read_study
    from benchrunner.study_files.run import run_study_file
    from benchrunner.study_files.table import StudyFileResult

__version__ = "0.1.0"

__all__ = [
    "ACCURACY",
    "BALANCED_ACCURACY",
    "EXACT_MATCH",
    "GRIDS",
    "MATTHEWS",
    "MEAN_RECIPROCAL_RANK",
    "OUTSIDE",
    "PEARSON",
    "RIGHT_CHOICE",
    "SPEARMAN",
    "Answered",
    "Answers",
    "Average",
    "Backbone",
    "BackboneFamily",
    "BadRows",
    "BenchrunnerError",
    "BoardFile",
    "Candidates",
    "CheckedSubmission",
    "CheckpointError",
    "Choose",
    "Classify",
    "ClassifyWords",
    "Columns",
    "CommandEstimate",
    "Comparison",
    "Computing",
    "DamagedFile",
    "DataError",
    "DataNotFound",
    "Diagnosis",
    "Diverged",
    "DryRun",
    "Ensemble",
    "Event",
    "Executor",
    "ExpectedRows",
    "ExportKind",
    "Faults",
    "FileKind",
    "FileScores",
    "Filtered",
    "Finetune",
    "Fit",
    "FitAnswer",
    "FitCost",
    "FitError",
    "FitOrder",
    "FitRunner",
    "GoldRow",
    "Grid",
    "HeadShape",
    "HeldBack",
    "HubTable",
    "Interval",
    "Job",
    "JsonLines",
    "JsonMap",
    "JsonTable",
    "JsonValues",
    "KeptStudy",
    "LabelList",
    "Labels",
    "Leaderboard",
    "Lines",
    "Listed",
    "Local",
    "Method",
    "MethodParameter",
    "Metric",
    "MultiLabel",
    "NamedRecipe",
    "Number",
    "OneBackbone",
    "Outcome",
    "Planner",
    "PluginError",
    "Plugins",
    "Predicted",
    "Prediction",
    "Problem",
    "PublishedChoice",
    "PublishedColumn",
    "PublishedFigure",
    "PublishedRow",
    "Recipe",
    "Record",
    "Regress",
    "Removal",
    "RequestError",
    "Reshaped",
    "Result",
    "Role",
    "RowSums",
    "Rows",
    "RowsFrom",
    "RunDetails",
    "RunDifference",
    "RunSummary",
    "Runner",
    "Score",
    "Scored",
    "Scorer",
    "Selection",
    "SentFits",
    "SentenceProblem",
    "Settings",
    "Shared",
    "Sizes",
    "Source",
    "Span",
    "Spelling",
    "Split",
    "SplitStatus",
    "Study",
    "StudyFileResult",
    "StudyOptions",
    "Submission",
    "Suite",
    "Table",
    "Tag",
    "Task",
    "Term",
    "Text",
    "TextTable",
    "Undefined",
    "UnknownName",
    "Verification",
    "WordColumns",
    "Workspace",
    "answer",
    "as_iob2",
    "average_precision",
    "begins_phrase",
    "check_files",
    "check_place",
    "check_submission",
    "choose_published",
    "chosen_runs",
    "closest_names",
    "data_status",
    "diagnose",
    "diff_runs",
    "discover",
    "disk_usage",
    "download_checkpoint",
    "download_hub_file",
    "dry_run_study",
    "dry_run_study_file",
    "exact_match_of_groups",
    "example_interval",
    "expected_best",
    "export",
    "f1",
    "f1_macro",
    "f1_micro",
    "f1_samples",
    "f1_weighted",
    "file_checksum",
    "find_faults",
    "find_file",
    "find_json_object",
    "find_sealed",
    "find_study",
    "first_line",
    "flush_to_disk",
    "folder_checksums",
    "holm",
    "hookimpl",
    "iob_labels",
    "is_disk_full",
    "kept_studies",
    "last_line",
    "list_offers",
    "list_runs",
    "mean_of_groups",
    "mean_reciprocal_rank",
    "memory_size",
    "options",
    "output",
    "paired_test",
    "predict",
    "print_line",
    "print_note",
    "prune_runs",
    "quoted",
    "read_json",
    "read_json_object",
    "read_leaderboard",
    "read_manifest",
    "read_sealed",
    "read_settings",
    "read_study",
    "read_text",
    "reciprocal_rank_of_groups",
    "remove_runs",
    "restart_interval",
    "result_of_runs",
    "roc_auc",
    "run_details",
    "run_study",
    "run_study_file",
    "score",
    "score_file",
    "searched_paths",
    "send_fits",
    "shard_files",
    "share_study",
    "sorted_runs",
    "verify_folder",
    "write_answers",
    "write_atomically",
    "write_board_files",
    "write_folder_atomically",
    "write_json",
    "write_report",
    "write_sealed",
    "write_submission",
]

_LATER = {
    "benchrunner.command_line": ("options", "output"),
    "benchrunner.plugins.diagnosis": ("Diagnosis", "diagnose"),
    "benchrunner.reports.rendering": ("write_report",),
    "benchrunner.runs.answering": ("Answered", "Ensemble", "answer", "write_board_files"),
    "benchrunner.runs.exporting": ("export",),
    "benchrunner.runs.local_executor": ("Local",),
    "benchrunner.runs.file_scores": ("FileScores", "score_file"),
    "benchrunner.runs.orders": ("FitAnswer", "FitOrder"),
    "benchrunner.runs.sending": ("SentFits", "send_fits"),
    "benchrunner.runs.inventory.details": ("RunDetails", "RunDifference", "diff_runs", "run_details"),
    "benchrunner.runs.inventory.sizes": ("Sizes",),
    "benchrunner.runs.inventory.summaries": ("RunSummary", "chosen_runs", "list_runs", "sorted_runs"),
    "benchrunner.runs.planner": ("Planner",),
    "benchrunner.runs.predicting": ("Predicted", "predict"),
    "benchrunner.runs.runner": ("Runner",),
    "benchrunner.statistics": (
        "Comparison",
        "Interval",
        "example_interval",
        "expected_best",
        "holm",
        "paired_test",
        "restart_interval",
    ),
    "benchrunner.sharing.share": ("Shared", "share_study"),
    "benchrunner.sharing.verify": ("Verification", "verify_folder"),
    "benchrunner.study_files.dry_run": ("DryRun", "dry_run_study", "dry_run_study_file"),
    "benchrunner.studies.kept.finished_runs": ("result_of_runs",),
    "benchrunner.studies.kept.kept_study": ("KeptStudy", "find_study", "kept_studies"),
    "benchrunner.studies.kept.removal": ("Removal", "disk_usage", "prune_runs", "remove_runs"),
    "benchrunner.study_files.kept_study_file": ("read_study",),
    "benchrunner.studies.study": ("Result", "Selection", "Study"),
    "benchrunner.study_files.run": ("run_study_file",),
    "benchrunner.studies.study_options": ("StudyOptions",),
    "benchrunner.studies.study_run": ("run_study",),
    "benchrunner.study_files.table": ("StudyFileResult",),
    "benchrunner.studies.submission_check": ("CheckedSubmission", "check_submission"),
    "benchrunner.studies.submissions": ("Submission", "write_submission"),
}
"""Module -> names that only programs use, not plugins when they are loaded: imported at their first use, so that
`benchrunner list` starts quickly."""

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Import a name of `_LATER` at its first use (PEP 562)."""
        for module, names in _LATER.items():
            if name in names:
                value = getattr(import_module(module), name, None)
                globals()[name] = value = value or import_module(f"{module}.{name}")  # a name may be a module's
                return value
        raise AttributeError(f"module 'benchrunner' has no attribute '{name}'")
