"""Commands `vectors` and `tokens`: equal to transformers, bounded, resumed, and clear about what is cut."""

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
import transformers

import benchrunner_methods
from benchrunner import Workspace
from benchrunner.command_line.main import main
from benchrunner.results import Plugins, discover
from benchrunner_bert.family import BertFamily
from benchrunner_bert.model import Bert
from benchrunner_methods.texts import vectors
from benchrunner_methods.texts.placed_pieces import placed
from inline import own

TEXTS = ["Old dogs bark, and unbelievable crocodiles 𒀀 sleep.", "", "dog", "What is the name?", "cats and dogs"]
LENGTH = 9


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    workspace = Workspace(folder / "runs", folder / "cache")
    backbone = BertFamily().find("bert/random-2/16", workspace)
    assert backbone is not None
    backbone.load(workspace, seed=0).save(folder)
    return folder


@pytest.fixture(scope="module")
def plugins() -> Plugins:
    offered = own(register_backbones=[BertFamily()])
    return discover(extra=[("methods", benchrunner_methods), ("own", offered)], installed=False)


def written(model: Path, folder: Path, plugins: Plugins, *words: str, code: int = 0) -> Path:
    """Compute the vectors of `TEXTS`, and return the file."""
    texts, out = folder / "texts.txt", folder / "v.parquet"
    texts.write_text("\n".join(TEXTS) + "\n", encoding="utf-8")
    command = ["vectors", str(model), str(texts), "--out", str(out), "--max-length", str(LENGTH), "--device", "cpu"]
    assert main([*command, "--quiet", *words], plugins=plugins) == code
    return out


@pytest.fixture(scope="module")
def states(model: Path) -> list[list[torch.Tensor]]:
    """For each text the states of each layer, and the pooler's output, as transformers computes them."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(model))
    reference = transformers.AutoModel.from_pretrained(str(model)).eval()
    of_texts = []
    for text in TEXTS:
        encoded = tokenizer(text, return_tensors="pt", truncation=True, max_length=LENGTH)
        with torch.no_grad():
            output = reference(**encoded, output_hidden_states=True)
        of_texts.append([*(layer[0] for layer in output.hidden_states), output.pooler_output[0]])
    return of_texts


@pytest.mark.parametrize(("summary", "layer"), [("mean", 1), ("max", 0), ("first", -1), ("pooler", -1)])
def test_vectors_are_those_of_transformers(
    summary: str, layer: int, model: Path, tmp_path: Path, plugins: Plugins, states: list[list[torch.Tensor]]
) -> None:
    file = written(model, tmp_path, plugins, "--summary", summary, "--layer", str(layer))
    table = pq.read_table(file)
    assert table["index"].to_pylist() == list(range(len(TEXTS)))
    for (*layers, pooled), vector in zip(states, table["vector"].to_pylist(), strict=True):
        state = layers[layer]
        expected = {"mean": state.mean(0), "max": state.amax(0), "first": state[0], "pooler": pooled}[summary]
        np.testing.assert_allclose(vector, expected, atol=1e-5)
    assert json.loads(table.schema.metadata[b"benchrunner"])["layer"] == layer % 3


def test_a_pooler_that_nobody_trained_is_refused(
    model: Path, tmp_path: Path, plugins: Plugins, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Bert, "fresh_modules", property(lambda encoder: (encoder.pooler,)))
    file = written(model, tmp_path, plugins, "--summary", "pooler", code=2)
    assert "--summary pooler: this backbone has no pooler of its own" in capsys.readouterr().err
    assert not file.exists()
    assert written(model, tmp_path, plugins, "--summary", "first").exists()


def test_each_token_has_its_characters_and_its_state(
    model: Path, tmp_path: Path, plugins: Plugins, states: list[list[torch.Tensor]]
) -> None:
    rows = pq.read_table(written(model, tmp_path, plugins, "--tokens")).to_pylist()
    for index, text in enumerate(TEXTS):
        mine = [row for row in rows if row["index"] == index]
        assert [row["position"] for row in mine] == list(range(len(mine)))
        np.testing.assert_allclose([row["vector"] for row in mine], states[index][-2], atol=1e-5)
        pieces = [row["piece"] for row in mine]
        assert pieces[0] == pieces[-1] == "" and text.replace(" ", "").startswith("".join(pieces))


def test_a_stopped_call_goes_on_to_the_same_bytes(
    model: Path, tmp_path: Path, plugins: Plugins, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "WINDOW_TEXTS", 2)
    whole = written(model, tmp_path, plugins).read_bytes()
    compute, computed = vectors.Vectors.table, list[int]()

    def stopping(made: vectors.Vectors, texts: list[str], first: int) -> object:
        if first == 4 and len(computed) == 2:
            raise KeyboardInterrupt
        computed.append(first)
        return compute(made, texts, first)

    monkeypatch.setattr(vectors.Vectors, "table", stopping)
    (tmp_path / "v.parquet").unlink()
    written(model, tmp_path, plugins, code=130)
    assert not (tmp_path / "v.parquet").exists()
    computed.append(-1)
    assert written(model, tmp_path, plugins).read_bytes() == whole
    assert computed == [0, 2, -1, 4] and not (tmp_path / "v.parquet.parts").exists()


def test_a_window_ends_after_many_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "WINDOW_CHARACTERS", 5)
    assert list(vectors.windows(["abc", "de", "f", "", "ghijkl", "m"])) == [["abc", "de"], ["f", "", "ghijkl"], ["m"]]


@pytest.mark.parametrize(
    ("content", "words", "message"),
    [
        (b'{"text": "a"}\n{"text": 3}\n', (), "texts.jsonl:2: 'text' is a number here, and a text in an earlier row"),
        (b"a\n", ("--layer", "3"), "--layer 3: the layers of this backbone are 0 to 2."),
        (b"", (), "texts.txt: there is no text in this file."),
        (b"a\n\xff\n", (), "texts.txt:2: not UTF-8 text (invalid start byte); convert"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(
    content: bytes,
    words: tuple[str, ...],
    message: str,
    model: Path,
    tmp_path: Path,
    plugins: Plugins,
    capsys: pytest.CaptureFixture[str],
) -> None:
    texts = tmp_path / ("texts.jsonl" if content.startswith(b"{") else "texts.txt")
    texts.write_bytes(content)
    assert main(["vectors", str(model), str(texts), "--out", str(tmp_path / "v"), *words], plugins=plugins) == 2
    assert message in capsys.readouterr().err


def test_tokens_show_what_a_pair_loses(model: Path, plugins: Plugins, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["tokens", str(model), "dogs bark at crocodiles 𒀀", "cats", "--max-length", "7"]
    assert main([*command, "--json"], plugins=plugins) == 0
    shown = json.loads(capsys.readouterr().out)
    ids = transformers.AutoTokenizer.from_pretrained(str(model))(*command[2:4], truncation=True, max_length=7)
    assert [token["id"] for token in shown["tokens"]] == ids["input_ids"]
    assert [token["segment"] for token in shown["tokens"]] == ids["token_type_ids"]
    assert shown["cut"][0].endswith("crocodiles 𒀀") and shown["cut"][1] == ""
    assert main(command, plugins=plugins) == 0
    assert "cut at 7 tokens: " in capsys.readouterr().out


def test_a_text_may_lose_its_beginning() -> None:
    from benchrunner_kit.testing import TinyEncoder

    class FromTheEnd(TinyEncoder):
        def assemble(self, first, second, max_length):  # type: ignore[no-untyped-def]
            return self.frame.fitted(self.pieces(first), None, max_length, from_end=True)

    pieces = placed(FromTheEnd(), [["one two three", "four"]], 4)
    assert (pieces.characters, pieces.cut) == (["", "two", "three", "", "", "four", ""], ["one", ""])
