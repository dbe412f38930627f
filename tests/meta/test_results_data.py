"""The script that cuts the data of docs/proofs/results.md makes exactly the cuts that the page names."""

import json
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def cut_data(data: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    from results_data import main

    monkeypatch.setattr(sys, "argv", ["results_data.py", "--data", str(data), "--out", str(out)])
    main()


def test_articles_2_to_5_and_60_documents_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data, out = tmp_path / "data", tmp_path / "out"
    for folder in ("conll2003", "squad", "glue"):
        (data / folder).mkdir(parents=True)
    documents = [f"-DOCSTART- -X- O O\n\nword{number} NN O O\n\n" for number in range(70)]
    for name in ("eng.train", "eng.testa", "eng.testb"):
        (data / "conll2003" / name).write_text("".join(documents))
    articles = [{"title": str(number), "paragraphs": [{"qas": [{}] * number}]} for number in range(8)]
    (data / "squad" / "dev-v1.1.json").write_text(json.dumps({"version": "1.1", "data": articles}))
    (data / "squad" / "train-v1.1.json").write_text("{}")
    cut_data(data, out, monkeypatch)
    assert "10 questions" in capsys.readouterr().out
    kept = json.loads((out / "squad" / "dev-v1.1.json").read_text())
    assert [article["title"] for article in kept["data"]] == ["1", "2", "3", "4"], "articles 2 to 5, counted from 1"
    for name in ("eng.train", "eng.testa"):
        assert (out / "conll2003" / name).read_text().split() == "".join(documents[:60]).split()
    assert (out / "squad" / "train-v1.1.json").read_text() == "{}"
    assert (out / "glue").resolve() == data / "glue"
    cut_data(data, out, monkeypatch)  # again, in the same folder
    with pytest.raises(SystemExit):
        cut_data(data, data, monkeypatch)
