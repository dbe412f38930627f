"""The public names of `benchrunner`, each with its module: type checkers and `__init__.py` read them here."""

from benchrunner.console.printing import (
    print_data as print_data,
    print_line as print_line,
    print_note as print_note,
    printable as printable,
)
from benchrunner.data import sources as sources
from benchrunner.data.delimited import TextTable as TextTable
from benchrunner.data.json_lines import JsonTable as JsonTable
from benchrunner.data.rows import (
    Rows as Rows,
    arrow_array as arrow_array,
    arrow_table as arrow_table,
    list_starts as list_starts,
)
from benchrunner.data.sources import (
    DataNotFound as DataNotFound,
    Filtered as Filtered,
    Reshaped as Reshaped,
    RowsFrom as RowsFrom,
    Source as Source,
)
from benchrunner.errors import (
    BadRows as BadRows,
    BenchrunnerError as BenchrunnerError,
    CheckpointError as CheckpointError,
    DamagedFile as DamagedFile,
    DataError as DataError,
    Diverged as Diverged,
    FitError as FitError,
    PluginError as PluginError,
    RequestError as RequestError,
    Undefined as Undefined,
    UnknownName as UnknownName,
    closest_names as closest_names,
)
from benchrunner.fits.executor import CommandEstimate as CommandEstimate
from benchrunner.io import json_files as json_files
from benchrunner.io.files import (
    check_encoding as check_encoding,
    full_disk as full_disk,
    read_text as read_text,
    remove_leftovers as remove_leftovers,
    text_lines as text_lines,
)
from benchrunner.io.json_files import read_json_object as read_json_object
from benchrunner.io.messages import (
    Faults as Faults,
    did_you_mean as did_you_mean,
    quoted as quoted,
    some_names as some_names,
)
from benchrunner.leaderboards import published as published
from benchrunner.leaderboards.board import Board as Board
from benchrunner.leaderboards.published import (
    PublishedColumn as PublishedColumn,
    PublishedRow as PublishedRow,
)
from benchrunner.metrics.metric import (
    ACCURACY as ACCURACY,
    EXACT_MATCH as EXACT_MATCH,
    RIGHT_CHOICE as RIGHT_CHOICE,
    GoldRow as GoldRow,
    Metric as Metric,
    RowSums as RowSums,
    Score as Score,
    gold_rows as gold_rows,
)
from benchrunner.parameters.grids import NamedRecipe as NamedRecipe
from benchrunner.parameters.recipes import STEPS as STEPS, Recipe as Recipe
from benchrunner.plugin_code import guarded as guarded
from benchrunner.plugins.hookspecs import Commands as Commands, hookimpl as hookimpl
from benchrunner.problems.sentences import (
    Classify as Classify,
    OneLabel as OneLabel,
    Regress as Regress,
    SentenceProblem as SentenceProblem,
)
from benchrunner.public_names import named_by_stub as named_by_stub
from benchrunner.studies.study_run import compare as compare
from benchrunner.tasks.task import (
    Average as Average,
    Role as Role,
    Scored as Scored,
    Scorer as Scorer,
    Split as Split,
    Suite as Suite,
    Task as Task,
    Term as Term,
)
from benchrunner.workspace import Settings as Settings, Workspace as Workspace

__version__: str
