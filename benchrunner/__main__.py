"""`python -m benchrunner`: the program `benchrunner`."""

# PYTHON_ARGCOMPLETE_OK: see benchrunner/command_line/main.py

import sys

from benchrunner_start import main

sys.exit(main())
