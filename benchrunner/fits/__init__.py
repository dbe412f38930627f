"""Fits: plans of trainings and predictions as values, their records, progress and executors."""
