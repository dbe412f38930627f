"""The archives of demo data are what `benchmarks/make_demo_data.py` writes."""

import os
import subprocess
import sys

from distributions import ROOT


def test_the_script_writes_the_archives_that_plugins_ship() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "benchmarks/make_demo_data.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr
