"""BBC news (Greene and Cunningham, 2006): one article, one of five topics."""

import csv
import random

from benchrunner import ACCURACY, Classify, Recipe, Split, Task, TextTable, hookimpl

WORDS = {
    "business": "shares profit bank",
    "entertainment": "film singer album",
    "politics": "minister election vote",
    "sport": "match coach goal",
    "tech": "software phone users",
}


def split(role, rows):
    file = TextTable(f"bbc/{role}.csv", {"a": "text", "label": "category"}, separator=",", quoted=True)
    return Split(role, (file,), rows)


def demo_files(folder):
    (folder / "bbc").mkdir(parents=True, exist_ok=True)
    for role, rows in (("train", 160), ("dev", 40), ("test", 40)):
        draw = random.Random(role)
        with (folder / "bbc" / f"{role}.csv").open("w", newline="", encoding="utf-8") as file:
            lines = csv.writer(file)
            lines.writerow(["category", "text"])
            for number in range(rows):
                topic, others = sorted(WORDS)[number % 5], draw.sample(["today", "the", "said", "new"], 3)
                words = [*draw.choices(WORDS[topic].split(), k=2), *others]
                lines.writerow([topic, f'"{words[0]}",\nhe said: {", ".join(draw.sample(words, 5))}'])


@hookimpl
def register_tasks():
    yield Task(
        name="bbc/news",
        about="Which of five topics is the article about?",
        problem=Classify(tuple(sorted(WORDS))),
        splits={"train": split("train", 1192), "dev": split("dev", 149), "test": split("test", 149)},
        metrics=(ACCURACY,),
        recipe=Recipe(epochs=5, batch_size=2, lr=1e-6, max_length=512),
        demo_files=demo_files,
    )
