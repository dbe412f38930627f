"""Readers of the further files of the official plugins."""

import functools
import json
from collections.abc import Iterator
from pathlib import Path

from benchrunner.data.rows import Rows
from benchrunner.tasks.task import Scorer
from readers.reader import Reader
from readers.task_files import demo_data, installed


def plugin_files() -> Iterator[tuple[str, Reader]]:
    """Readers of the further files of the official plugins."""
    from benchrunner_bert.configuration import Configuration
    from benchrunner_bert.pretraining.corpus.corpus import Corpus
    from benchrunner_bert.pretraining.corpus.vocabulary import Vocabulary
    from benchrunner_bert.tokenizer import BertTokenizer
    from benchrunner_squad.scorers import read_answers, read_probabilities

    pieces = b"[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##b\nthe\n"
    yield "vocabulary", Reader(lambda path: Vocabulary.read(path).tokenizer() and None, "vocab.txt", [pieces])
    yield (
        "vocabulary of a model",
        Reader(lambda path: BertTokenizer.from_vocabulary(path, lowercase=True) and None, "vocab.txt", [pieces]),
    )
    config = {
        "vocab_size": 30,
        "hidden_size": 8,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 16,
    }
    config |= {"max_position_embeddings": 32, "type_vocab_size": 2, "hidden_act": "gelu", "model_type": "bert"}
    yield (
        "config.json of BERT",
        Reader(lambda path: Configuration.read(path) and None, "config.json", [json.dumps(config).encode()]),
    )
    for file, seed in {
        "corpus.txt": b"One. Two.\n\nThree.\n",
        "corpus.jsonl": b'{"text": "One.\\n\\nTwo."}\n{"text": "3"}\n',
    }.items():

        def read(path: Path) -> object:
            for _ in Corpus.named([str(path)]).paragraphs():
                pass
            return None

        yield file, Reader(read, file, [seed])
    yield "SQuAD answers", Reader(lambda path: read_answers(path) and None, "said.json", [b'{"q1": "a", "q2": ""}'])
    yield (
        "SQuAD probabilities",
        Reader(lambda path: read_probabilities(path) and None, "none.json", [b'{"q1": 0.5, "q2": 1}']),
    )
    with demo_data() as workspace:
        for name in ("conll/ner", "squad/1.1", "squad/2.0"):
            task = installed().tasks.find(name)
            assert task.scorer is not None and task.demo_files is not None
            task.demo_files(workspace.data)
            gold = task.load("dev", workspace)
            said = predictions_of(gold).encode()
            yield f"scorer of {name}", Reader(functools.partial(of_scorer, task.scorer, gold), "said.json", [said])


def predictions_of(gold: Rows) -> str:
    """Write predictions in the layout of the official scorer: by question, or beside the words and their tags."""
    table = gold.table.to_pydict()
    if "id" in table:
        return json.dumps(dict.fromkeys(table["id"], "one"))
    rows = zip(table["words"], table["labels"], strict=True)
    lines = list[str]()
    for words, tags in rows:
        lines += [*(f"{word} {tag} O" for word, tag in zip(words, tags, strict=True)), ""]
    return "\n".join(lines)


def of_scorer(scorer: Scorer, gold: Rows, path: Path) -> object:
    if scorer.recognizes(path):
        scorer.score(path, gold, {})
    return None
