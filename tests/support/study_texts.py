"""Study files as text, and the function that writes them."""

from pathlib import Path

HEAD = 'title = "Which is better?"\n'


SYSTEM = '[[system]]\nname = "one"\nbackbone = "tiny/words"\n'


COLUMN = '[[column]]\nname = "mood"\ntask = "mine/mood"\n'


def write_study(folder: Path, text: str) -> Path:
    """Write a study file `mine.toml` and return its path."""
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return path


WHOLE = """
title = "Does width help?"
source = "somebody, 2019"

[parameters.corpus]
about = "what they learn from"
kind = "list"

[parameters.steps]
about = "of each"
default = "1000"

[parameters.warmup]
about = "of them"
default = "{steps/100}"

[parameters.points]
about = "to look at"
kind = "list"
default = "{steps*2/5},{steps}"

[parameters.widths]
about = "to compare"
kind = "list"
default = "4/128,4/256"

[parameters.more]
about = "further words"
kind = "words"
default = ""

[recipe]
restarts = "5"

[[system]]
each = {width = "{widths}", side = "left,right"}
name = "{width} {side}"
make = "learn {width} --from {corpus} --at={points} --warmup={warmup} --out '{side} of {width.file}' {more}"
backbone = "models/{width.file}/{side}"
figures = "models/{width.file}/log.jsonl"

[[column]]
name = "mood"
task = "mine/mood"
recipe = {lr = "1e-3,2e-3"}

[[column]]
name = "words"
figure = "perplexity"
note = "of other text"

[[published]]
system = "4/256 left"
cells = {mood = 91.5}
"""
