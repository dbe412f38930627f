"""The public names of `benchrunner.results`, each with its module."""

from benchrunner import command_line as command_line
from benchrunner.fits.computing import Computing as Computing
from benchrunner.fits.executor import Executor as Executor, FitRunner as FitRunner
from benchrunner.fits.fit import Fit as Fit, Prediction as Prediction, Record as Record
from benchrunner.fits.progress import Event as Event, watched as watched
from benchrunner.fits.search import Search as Search
from benchrunner.io import output_places as output_places
from benchrunner.parameters.declared import Declared as Declared, parameter as parameter
from benchrunner.parameters.grids import Grid as Grid
from benchrunner.plugins.diagnosis import diagnose as diagnose
from benchrunner.plugins.discovery import discover as discover
from benchrunner.plugins.listing import list_offers as list_offers
from benchrunner.plugins.registry import Plugins as Plugins
from benchrunner.process import interrupts as interrupts
from benchrunner.runs import ensembles as ensembles, predicting as predicting
from benchrunner.runs.ensembles import answer as answer
from benchrunner.runs.fit_orders import FitAnswer as FitAnswer, FitOrder as FitOrder
from benchrunner.runs.folder import (
    RunFolder as RunFolder,
    find_run as find_run,
    read_prediction as read_prediction,
)
from benchrunner.runs.local_executor import Local as Local
from benchrunner.runs.predicting import predict as predict
from benchrunner.runs.runner import Runner as Runner
from benchrunner.studies import (
    cells as cells,
    comparison as comparison,
    contrasts as contrasts,
    entries as entries,
    intervals as intervals,
    pairs as pairs,
    planning as planning,
    study as study,
)
from benchrunner.studies.cells import CellResult as CellResult
from benchrunner.studies.kept.kept_results import read_study as read_study, result_of_runs as result_of_runs
from benchrunner.studies.kept.kept_study import find_study as find_study, kept_studies as kept_studies
from benchrunner.studies.result import Result as Result
from benchrunner.studies.selection import select as select
from benchrunner.studies.study import Study as Study
from benchrunner.studies.study_building import compared as compared
from benchrunner.studies.study_options import StudyOptions as StudyOptions
from benchrunner.studies.study_run import run_study as run_study
