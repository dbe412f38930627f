"""Compare the fine-tuned baselines of BabyLM 2026's multilingual track by the prediction files in their own repository.

`python benchmarks/babylm_answers.py CHECKOUT OUT` reads a checkout of github.com/babylm-org/babylm-eval, writes a task
file for each task and language to OUT, and prints the one command that compares all prediction files.
docs/proofs/answers.md shows what comes out.
"""

import argparse
import json
import shlex
from pathlib import Path

BATCH = 8
"""The baselines answer whole batches of this size only: the rows of a last, smaller batch have no answer."""


def write_task(name: str, data: Path, out: Path) -> Path:
    """Write the task LANGUAGE/NAME with the rows that the baselines answered; its rows have labels and no texts."""
    language, _, task = name.partition("/")
    labels = set()
    for split, part, multiple in (("train", "train", 1), ("dev", "valid", BATCH)):
        lines = (data / name / f"{task}_{language}.{part}.jsonl").read_text(encoding="utf-8").splitlines()
        rows = [str(json.loads(line)["label"]) for line in lines[: len(lines) // multiple * multiple]]
        labels |= set(rows)
        texts = [f"{row}\t{label}\n" for row, label in enumerate(rows)]
        (out / f"{language}-{task}.{split}.tsv").write_text("".join(["text\tlabel\n", *texts]))
    file = out / f"{language}-{task}.toml"
    splits = ", ".join(f'{split} = "{language}-{task}.{split}.tsv"' for split in ("train", "dev"))
    file.write_text(
        f'problem = "classify"\nlabels = {json.dumps(sorted(labels))}\n'
        f'columns = {{a = "text", label = "label"}}\nsplits = {{{splits}}}\n'
    )
    return file


def main() -> None:
    """Write the task files and print the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    folder = arguments.checkout / "multilingual" / "finetune"
    arguments.out.mkdir(parents=True, exist_ok=True)
    systems = dict[Path, str]()
    names = dict[str, None]()
    for path in sorted(folder.glob("results/*/*/*/predictions.txt")):
        systems[path.parents[2]] = path.parents[2].name.removeprefix("gpt2-baseline-")
        names["/".join(path.parts[-3:-1])] = None
    tasks = [str(write_task(name, folder / "data" / "multilingual", arguments.out)) for name in names]
    words = [f"{name}={path}" for path, name in systems.items()]
    print(shlex.join(["benchrunner", "compare", *words, "--tasks", ",".join(tasks)]))


if __name__ == "__main__":
    main()
