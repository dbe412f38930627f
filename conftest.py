"""For every test of every distribution: set before anything can import torch."""

import os

os.environ.setdefault("GOMP_SPINCOUNT", "3000")  # OpenMP's waiting threads must not starve a busy machine
