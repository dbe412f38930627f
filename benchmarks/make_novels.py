"""Put a finished pre-training into the package as bert/novels, with weights in half precision.

python benchmarks/make_novels.py RUN/model          # the README.md of the model has the command that made RUN
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

HOME = Path(__file__).parents[1] / "plugins" / "benchrunner_bert" / "novels"
WEIGHTS = "model.safetensors"


def main() -> None:
    """Copy the files of the model, and convert its weights."""
    source = Path(sys.argv[1])
    HOME.mkdir(exist_ok=True)
    for path in source.iterdir():
        if path.name != WEIGHTS:
            shutil.copyfile(path, HOME / path.name)
    card = HOME / "README.md"
    card.write_text(re.sub("^# .*$", "# bert/novels", card.read_text("utf-8"), count=1, flags=re.MULTILINE), "utf-8")
    weights = {name: weight.to(torch.float16) for name, weight in load_file(source / WEIGHTS).items()}
    save_file(weights, HOME / WEIGHTS, metadata={"format": "pt"})
    (HOME / WEIGHTS).chmod(0o644)
    print(f"{HOME / WEIGHTS}: {(HOME / WEIGHTS).stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
