"""The public names of `benchrunner_submit`, each with its module."""

from benchrunner_submit.board_file import BoardFile as BoardFile, Pair as Pair
from benchrunner_submit.board_toml import read_leaderboard as read_leaderboard
from benchrunner_submit.file_kinds.columns_file import Columns as Columns
from benchrunner_submit.file_kinds.file_kind import (
    Answers as Answers,
    ExpectedRows as ExpectedRows,
    FileKind as FileKind,
)
from benchrunner_submit.file_kinds.json_file import JsonLines as JsonLines, JsonMap as JsonMap
from benchrunner_submit.file_kinds.spellings import (
    LabelList as LabelList,
    Labels as Labels,
    Number as Number,
    Spelling as Spelling,
    Text as Text,
)
from benchrunner_submit.file_kinds.text_files import Lines as Lines, Table as Table
from benchrunner_submit.leaderboard import Leaderboard as Leaderboard
from benchrunner_submit.own_questions.user_files import answer_file as answer_file
from benchrunner_submit.own_questions.user_tables import read_user_table as read_user_table
from benchrunner_submit.plugin_values import plugin_class as plugin_class, plugin_value as plugin_value
from benchrunner_submit.submission_files.content import file_content as file_content
from benchrunner_submit.submission_files.manifests import Manifest as Manifest, read_manifest as read_manifest
from benchrunner_submit.submission_files.writing import write_answers as write_answers
from benchrunner_submit.submissions.submission import Submission as Submission, write_submission as write_submission
from benchrunner_submit.submissions.submission_check import (
    CheckedSubmission as CheckedSubmission,
    check_submission as check_submission,
    rows_of as rows_of,
)
