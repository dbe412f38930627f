"""Inventory: what a runs folder holds, read without torch, plugins' code or data."""

from benchrunner.runs.inventory.details import diff_runs, run_details
from benchrunner.runs.inventory.kept_fits import fits_of
from benchrunner.runs.inventory.summaries import list_runs

__all__ = ["diff_runs", "fits_of", "list_runs", "run_details"]
