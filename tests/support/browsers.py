"""A headless browser that opens a file, for tests of pages."""

import base64
import hashlib
import html
import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--enable-logging=stderr", "--log-level=0"),
    "--disable-dev-shm-usage",
)
WRAPPED = """
(async () => {
  let value;
  try { value = await (async () => { SCRIPT })(); } catch (error) { value = { error: String(error) }; }
  const made = document.createElement("output");
  made.id = "answers";
  made.textContent = JSON.stringify(value);
  document.body.append(made);
  if (parent !== window) parent.postMessage(made.textContent, "*");
})();
"""
"""Code that runs a script and writes the values that it returns into the document, and into that of a frame around."""
FRAME = """<!doctype html><body>
<iframe src="copy.html" style="width: WIDTHpx; height: 800px; border: 0"></iframe>
<script>
addEventListener("message", (event) => {
  const made = document.createElement("output");
  made.id = "answers";
  made.textContent = event.data;
  document.body.append(made);
});
</script>
"""
"""A page that shows the copy of another one in a frame: windows of browsers are not narrower than about 500 pixels."""


@dataclass(frozen=True)
class Opened:
    """A page after it was opened and its scripts ran."""

    page: str
    """The document as HTML."""
    console: list[str]
    """What the page wrote to the console: errors, warnings and refused loads."""


def program() -> str:
    """Return the path of an installed browser; skip the test if there is none."""
    found = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if found is None:
        pytest.skip(f"no browser is installed: {', '.join(PROGRAMS)}")
    return str(found)


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the browser with a fresh profile below a folder."""
    options = (*OPTIONS, f"--user-data-dir={folder / 'profile'}")
    return subprocess.run([program(), *options, *words], capture_output=True, text=True, timeout=240, check=True)


def opened(file: Path, folder: Path, *words: str) -> Opened:
    """Open a file, let its scripts run, and return the document. The words are further options of the browser."""
    done = run(folder, *words, "--virtual-time-budget=4000", "--dump-dom", file.as_uri())
    return Opened(done.stdout, [line for line in done.stderr.splitlines() if ":CONSOLE" in line])


def answers_of(file: Path, folder: Path, script: str, *words: str, width: int | None = None) -> dict[str, Any]:
    """Open a copy of a page in which a script runs after the page's own; return the values that the script gives.

    The script is the body of an async function that returns an object. The page's policy is changed to allow it.
    `width` shows the page in a frame of so many pixels.
    """
    code = WRAPPED.replace("SCRIPT", script)
    digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    text = file.read_text(encoding="utf-8")
    assert text.count("script-src ") == 1
    changed = text.replace("script-src ", f"script-src 'sha256-{digest}' ").replace(
        "</body>", f"<script>{code}</script></body>"
    )
    copy = folder / "copy.html"
    copy.write_text(changed, encoding="utf-8")
    shown = copy
    if width is not None:
        shown = folder / "frame.html"
        shown.write_text(FRAME.replace("WIDTH", str(width)), encoding="utf-8")
    match = re.search(r'<output id="answers">(.*?)</output>', opened(shown, folder, *words).page, re.DOTALL)
    assert match is not None, "the script gave nothing"
    values: dict[str, Any] = json.loads(html.unescape(match[1]))
    return values
