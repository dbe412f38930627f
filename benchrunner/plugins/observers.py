"""Tell a runner's callback and the plugins' observers what happens during fits."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from benchrunner.console.printing import print_note
from benchrunner.errors import BenchrunnerError, RequestError, described
from benchrunner.fits.fit import Fit
from benchrunner.fits.progress import Event
from benchrunner.plugin_code import PluginCode, PluginFailure
from benchrunner.plugins.registry import Plugins

Report = Callable[[Fit, Event], None]
"""Callback for progress."""

MAY_REFUSE = ("before_study",)
"""Hooks whose observers may refuse the request, with a `RequestError`: nothing has run yet."""


class Observers:
    """The progress callback of a runner and the observer hooks of the plugins."""

    def __init__(self, plugins: Plugins, report: Report) -> None:
        self.report = report
        self._plugins = plugins
        self._warned: set[tuple[str, str]] = set()

    @contextlib.contextmanager
    def reporting_to(self, report: Report) -> Iterator[None]:
        """Send progress to another callback within the `with` block."""
        before, self.report = self.report, report
        try:
            yield
        finally:
            self.report = before

    def progress(self, fit: Fit, event: Event) -> None:
        """Report one event of a fit to the callback and to every `on_progress` hook."""
        self.report(fit, event)
        self.call("on_progress", fit=fit, event=event)

    def call(self, hook: str, **arguments: Any) -> None:
        """Call the observers of one hook. An observer that fails is reported once and stops nothing.

        Only a `RequestError` from a hook of `MAY_REFUSE` is raised: the user asked the plugin for what cannot be.
        """
        for observer in getattr(self._plugins.hook, hook).get_hookimpls():
            try:
                with PluginCode():
                    observer.function(*(arguments[name] for name in observer.argnames))
            except (BenchrunnerError, OSError) as error:
                if hook in MAY_REFUSE and isinstance(error, RequestError):
                    raise
                place = (hook, observer.plugin_name)
                if place not in self._warned:
                    self._warned.add(place)
                    text = str(error) if isinstance(error, PluginFailure) else described(error)
                    print_note(f"The observer {hook} of plugin '{observer.plugin_name}' failed: {text}")
