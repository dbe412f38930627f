"""A bar of progress below a notebook's cell. Only IPython is needed, which every notebook has."""

from __future__ import annotations

import sys
import time
from typing import Any, final

SECONDS = 0.5
"""Least time between two updates of the bar: each is a message to the browser."""


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    return "ipykernel" in sys.modules


@final
class NotebookBar:
    """A bar in the output of a notebook's cell, which is replaced at each update."""

    def __init__(self) -> None:
        from IPython.display import display

        self._updated = 0.0
        self._display: Any = display({"text/plain": "", "text/html": ""}, raw=True, display_id=True)

    def update(self, share: float, text: str) -> None:
        """Show the share of the work that is done, with a text beside the bar."""
        now = time.monotonic()
        if now - self._updated >= SECONDS or share >= 1:
            self._updated = now
            self._display.update(self._shown(share, text), raw=True)

    def close(self) -> None:
        """Empty the output, so that only the result stays below the cell."""
        self._display.update({"text/plain": "", "text/html": ""}, raw=True)

    def _shown(self, share: float, text: str) -> dict[str, str]:
        import html

        label = html.escape(text)
        bar = f'<progress value="{share:.4f}" max="1" aria-label="progress of the study"></progress>'
        return {"text/plain": f"{share:4.0%}  {text}", "text/html": f"{bar} {share:.0%} &nbsp; {label}"}
