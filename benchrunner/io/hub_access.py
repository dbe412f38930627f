"""Access to the Hugging Face hub: whether the hub answers, found out once, and what it is asked for."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator
from typing import Any, final

from benchrunner.console.printing import print_note

ANSWER_SECONDS = 10.0
"""Seconds that the hub has for its first answer. Its own clients wait as long, but ask several times for each file."""
SILENT_SECONDS = 2.0
"""Seconds after which a line says what the hub is asked for."""


@final
class HubAccess:
    """Knows whether the hub can be reached. A failure is remembered, so that later questions fail at once."""

    def __init__(self) -> None:
        self._is_tried = False
        self.known_failure: str | None = None
        """Why the hub cannot be reached, as far as it was asked; None if it answered or nobody has asked it."""

    def failure(self, wanted: str) -> str | None:
        """Return why the hub cannot be reached, or None if it answers; the first call asks it.

        `wanted` is what the hub will be asked for: a line on standard error names it if the answer takes long.
        """
        if not self._is_tried:
            with self.asking(wanted):
                self.known_failure = _failure()
            self._is_tried = True
        return self.known_failure

    def lost(self, reason: str) -> None:
        """Remember that the hub stopped answering."""
        self._is_tried, self.known_failure = True, reason

    @contextlib.contextmanager
    def asking(self, wanted: str) -> Iterator[None]:
        """Say on standard error what the hub is asked for if the block takes longer than two seconds."""
        timer = threading.Timer(SILENT_SECONDS, print_note, (f"benchrunner: asking the hub for {wanted} ...",))
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()


@contextlib.contextmanager
def cache_only(is_offline: bool) -> Iterator[None]:
    """Let the hub's libraries read only their cache within the block, if `is_offline`; they have no such argument.

    Even a question about local files may otherwise ask the hub about other things, for example for statistics.
    """
    from huggingface_hub import constants

    modules: list[Any] = [constants, *filter(None, [sys.modules.get("datasets.config")])] if is_offline else []
    before = [module.HF_HUB_OFFLINE for module in modules]
    for module in modules:
        module.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        for module, value in zip(modules, before, strict=True):
            module.HF_HUB_OFFLINE = value


def _failure() -> str | None:
    """Ask the hub's address for its headers; return why there was no answer in time, or None if there was any."""
    import urllib.request  # loads http and ssl, which most commands do not need

    from huggingface_hub import constants

    if any("socks" in address for address in urllib.request.getproxies().values()):
        return None  # urllib cannot ask through such a proxy; the hub's own clients can
    address = constants.ENDPOINT
    reasons: list[str | None] = []
    # A resolver that does not answer cannot be given a time limit, so another thread waits for it.
    thread = threading.Thread(target=lambda: reasons.append(_connection_failure(address)), daemon=True)
    thread.start()
    thread.join(ANSWER_SECONDS)
    reason = reasons[0] if reasons else f"no answer in {ANSWER_SECONDS:g} seconds"
    return None if reason is None else f"{address} cannot be reached ({reason}). Use --offline to not ask the hub"


def _connection_failure(address: str) -> str | None:
    """Return why a server does not answer, or None if it answers; also a refusal is an answer."""
    import urllib.error
    import urllib.request

    try:
        urllib.request.urlopen(urllib.request.Request(address, method="HEAD"), timeout=ANSWER_SECONDS).close()
    except (ConnectionError, TimeoutError) as error:
        return _reason(error)
    except urllib.error.URLError as error:
        cause = error.reason
        is_network = isinstance(cause, OSError) and not type(cause).__module__.startswith("ssl")
        # Certificates are judged by the hub's own clients. The reason of a refusal (HTTPError) is a text.
        return _reason(cause) if is_network else None
    except Exception:  # an address or an answer that only the hub's own clients may understand
        return None
    return None


def _reason(error: BaseException | str) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return str(getattr(error, "strerror", None) or error or type(error).__name__)
