"""`python -m benchrunner`."""

import sys

from benchrunner.commands import main

sys.exit(main())
