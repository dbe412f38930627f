"""The public names of `benchrunner_kinds`, each with its module."""

from benchrunner_kinds.choices import Candidates as Candidates, Choose as Choose
from benchrunner_kinds.marked_words import ClassifyWords as ClassifyWords
from benchrunner_kinds.multi_label import MultiLabel as MultiLabel
from benchrunner_kinds.spans.span import Span as Span
from benchrunner_kinds.tags import iob_tags as iob_tags
from benchrunner_kinds.tags.tag import Tag as Tag
from benchrunner_kinds.tags.word_columns import WordColumns as WordColumns
