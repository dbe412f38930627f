"""`python -m benchrunner`."""

# PYTHON_ARGCOMPLETE_OK: see benchrunner/commands/main.py

import sys

from benchrunner.commands.main import main

sys.exit(main())
