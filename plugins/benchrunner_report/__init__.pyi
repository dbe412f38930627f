"""The public names of `benchrunner_report`, each with its module."""

from benchrunner_report.disagreement import Disagreement as Disagreement
from benchrunner_report.drawings import chart as chart
from benchrunner_report.drawings.groups import curve as curve, curves as curves
from benchrunner_report.drawings.study_charts import mean_rank_card as mean_rank_card
from benchrunner_report.drawings.task_charts import Card as Card
from benchrunner_report.gathering import gather as gather
from benchrunner_report.grading import graded as graded
from benchrunner_report.pages import page_environment as page_environment
from benchrunner_report.rendering import rendered as rendered
from benchrunner_report.table import StudyTable as StudyTable
from benchrunner_report.visible_text import visible as visible
