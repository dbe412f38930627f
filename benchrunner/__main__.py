"""`python -m benchrunner`."""

import sys

from benchrunner.commands.main import main

sys.exit(main())
