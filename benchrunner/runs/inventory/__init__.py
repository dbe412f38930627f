"""Inventory: what a runs folder holds, read without torch, plugins' code or data."""

from benchrunner.runs.inventory.details import diff_runs, run_details
from benchrunner.runs.inventory.summaries import list_runs

__all__ = ["diff_runs", "list_runs", "run_details"]
