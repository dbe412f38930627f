"""Drawings: the charts and shaded tables of a report, as SVG and HTML."""
