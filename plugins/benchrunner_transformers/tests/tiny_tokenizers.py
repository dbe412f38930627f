"""Small real tokenizers of every kind, trained on a few sentences and written as the hub has them."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

TEXTS = """
The old man sat by the river and watched the boats go down to the sea. Nobody knew how long he had been there.
A quick brown fox jumps over the lazy dog, but the dog doesn't mind: it's asleep. What is the name of the dog?
In 1998 the company sold 2,500 machines for $1,200 each; in 2004 it sold none. Who bought the last machine?
Anna Meier flew from Berlin to New York on Monday. She didn't like the food, the film or the weather (rain).
This film is a warm, funny and moving story. That film was a dull, slow and silly mess, and we won't see it again.
Did the president of the United States visit France in the spring? Yes, he did, with his wife and three children.
The children were playing in the garden when their mother called them. "Come in," she said, "dinner is ready!"
Zürich, São Paulo and Kraków are cities; naïve café owners there sell crème brûlée. It isn't cheap at all.
She opened the window, looked outside and saw that everything was covered with snow. Then she closed it quickly.
Researchers showed that larger models need fewer examples to learn a new task than smaller models of the same kind.
""".strip().splitlines()
"""What the tokenizers are trained on."""
PIECES = 400
"""Number of pieces that the training of a tokenizer aims at."""
_QWEN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""The words of Qwen2's tokenizer."""


def write_tokenizer(model_type: str, folder: Path, *, lowercase: bool = True) -> int:
    """Write the tokenizer of a model type into a folder, in the hub's layout; return the size of its vocabulary.

    The files are tokenizer.json and tokenizer_config.json. `lowercase` is read for WordPiece only.
    """
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer, settings = KINDS[model_type](lowercase) if model_type in _CASED else KINDS[model_type]()
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=2), encoding="utf-8")
    return 1 + int(max(tokenizer.get_vocab(with_added_tokens=True).values()))


def _add_mask(tokenizer: Tokenizer, mask: str) -> None:
    """Add a mask token that takes the space before it, as in RoBERTa and its relatives."""
    tokenizer.add_special_tokens([AddedToken(mask, lstrip=True, special=True)])


_TWO_ENDS = "<s> $A </s>", "<s> $A </s> </s> $B </s>"


def _template(
    tokenizer: Tokenizer, single: str = "[CLS]:0 $A:0 [SEP]:0", pair: str = "[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1"
) -> None:
    names = {part.split(":")[0] for part in pair.split() if not part.startswith("$")}
    special = [(name, tokenizer.token_to_id(name)) for name in sorted(names)]
    tokenizer.post_processor = processors.TemplateProcessing(single=single, pair=pair, special_tokens=special)


def _counts(words: Iterable[str], inside: str = "") -> Counter[str]:
    """Count the parts of words that a vocabulary should have: all characters, and the parts that are most useful.

    Parts that do not begin a word get the prefix `inside`. The trainers of `tokenizers` for WordPiece and Unigram give
    another vocabulary in every run.
    """
    counts = Counter[str]()
    for word, count in Counter(words).items():
        for start in range(len(word)):
            for stop in range(start + 1, min(len(word), start + 8) + 1):
                counts[inside * (start > 0) + word[start:stop]] += count
    usefulness = {part: count * len(part.removeprefix(inside)) for part, count in counts.items()}
    characters = {part for part in counts if len(part.removeprefix(inside)) == 1}
    longer = sorted(counts.keys() - characters, key=lambda part: (-usefulness[part], part))
    return Counter({part: counts[part] for part in [*sorted(characters), *longer[: PIECES - len(characters)]]})


# WordPiece


def _words_in_pieces(special: str, lowercase: bool) -> Tokenizer:
    """Make a WordPiece tokenizer of special tokens and pieces."""
    normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    splitter = pre_tokenizers.BertPreTokenizer()
    words = [word for text in TEXTS for word, _ in splitter.pre_tokenize_str(normalizer.normalize_str(text))]
    vocabulary = {piece: number for number, piece in enumerate([*special.split(), *_counts(words, "##")])}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, splitter
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.add_special_tokens(special.split())
    return tokenizer


def _wordpiece(lowercase: bool, name: str = "BertTokenizer") -> tuple[Tokenizer, dict[str, Any]]:
    tokenizer = _words_in_pieces("[PAD] [UNK] [CLS] [SEP] [MASK]", lowercase)
    start = 2 if name == "FunnelTokenizer" else 0
    _template(tokenizer, f"[CLS]:{start} $A:0 [SEP]:0", f"[CLS]:{start} $A:0 [SEP]:0 $B:1 [SEP]:1")
    return tokenizer, {"tokenizer_class": name, "do_lower_case": lowercase, "model_max_length": 512}


def _funnel(lowercase: bool) -> tuple[Tokenizer, dict[str, Any]]:
    names = {"cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]", "unk_token": "[UNK]"}
    tokenizer, settings = _wordpiece(lowercase, "FunnelTokenizer")
    return tokenizer, settings | names | {"mask_token": "[MASK]", "bos_token": "[CLS]", "eos_token": "[SEP]"}


def _mpnet(lowercase: bool) -> tuple[Tokenizer, dict[str, Any]]:
    tokenizer = _words_in_pieces("<s> <pad> </s> [UNK]", lowercase)
    _add_mask(tokenizer, "<mask>")
    ends = {name: (name, tokenizer.token_to_id(name)) for name in ("</s>", "<s>")}
    tokenizer.post_processor = processors.RobertaProcessing(ends["</s>"], ends["<s>"], add_prefix_space=False)
    return tokenizer, {"tokenizer_class": "MPNetTokenizer", "do_lower_case": lowercase, "model_max_length": 512}


# Byte-level BPE


def _byte_level(special: str, mask: str = "", pattern: str = "", *, compose: bool = False) -> Tokenizer:
    """Train byte-level BPE on words of GPT-2's pattern or of another; `compose` normalises to NFC."""
    tokenizer = Tokenizer(models.BPE())
    if compose:
        tokenizer.normalizer = normalizers.NFC()
    split = [pre_tokenizers.Split(Regex(pattern), behavior="isolated")] if pattern else []
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=not pattern)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*split, byte_level]) if pattern else byte_level
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=PIECES + 100,
        special_tokens=special.split(),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(TEXTS, trainer)
    if mask:
        _add_mask(tokenizer, mask)
    return tokenizer


def _roberta(name: str = "RobertaTokenizer") -> tuple[Tokenizer, dict[str, Any]]:
    tokenizer = _byte_level("<s> <pad> </s> <unk>", mask="<mask>")
    ends = {name: (name, tokenizer.token_to_id(name)) for name in ("</s>", "<s>")}
    tokenizer.post_processor = processors.RobertaProcessing(
        ends["</s>"], ends["<s>"], trim_offsets=True, add_prefix_space=False
    )
    return tokenizer, {"tokenizer_class": name, "model_max_length": 512}


def _gpt2() -> tuple[Tokenizer, dict[str, Any]]:
    tokenizer = _byte_level("<|endoftext|>")
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    return tokenizer, {"tokenizer_class": "GPT2Tokenizer", "model_max_length": 1024}


def _gpt_neox() -> tuple[Tokenizer, dict[str, Any]]:
    tokenizer = _byte_level("<|endoftext|> <|padding|>", compose=True)
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=True)
    names = dict.fromkeys(("unk_token", "bos_token", "eos_token"), "<|endoftext|>")
    return tokenizer, {"tokenizer_class": "GPTNeoXTokenizer", **names}


def _qwen2() -> tuple[Tokenizer, dict[str, Any]]:
    tokenizer = _byte_level("<|endoftext|> <|im_start|> <|im_end|>", pattern=_QWEN, compose=True)
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    names = {"pad_token": "<|endoftext|>", "eos_token": "<|endoftext|>"}
    return tokenizer, {"tokenizer_class": "Qwen2Tokenizer", "model_max_length": 32768, **names}


def _bracketed() -> dict[str, str]:
    names = {f"{name}_token": f"[{name.upper()}]" for name in ("cls", "sep", "pad", "unk", "mask")}
    return {**names, "bos_token": "[CLS]", "eos_token": "[SEP]"}


def _deberta() -> tuple[Tokenizer, dict[str, Any]]:
    tokenizer = _byte_level("[PAD] [CLS] [SEP] [UNK]", mask="[MASK]")
    _template(tokenizer)
    return tokenizer, {"tokenizer_class": "DebertaTokenizer", "model_max_length": 512, **_bracketed()}


def _modernbert() -> tuple[Tokenizer, dict[str, Any]]:
    tokenizer = _byte_level("[UNK] [CLS] [SEP] [PAD]", mask="[MASK]", compose=True)
    _template(tokenizer)
    names = {name: token for name, token in _bracketed().items() if name not in ("bos_token", "eos_token")}
    inputs = {"model_input_names": ["input_ids", "attention_mask"], "model_max_length": 8192}
    return tokenizer, {"tokenizer_class": "PreTrainedTokenizerFast", **names, **inputs}


def _eurobert() -> tuple[Tokenizer, dict[str, Any]]:
    tokenizer = _byte_level("<|begin_of_text|> <|end_of_text|> <|mask|> <|pad|>", pattern=_QWEN)
    _template(
        tokenizer,
        "<|begin_of_text|>:0 $A:0 <|end_of_text|>:0",
        "<|begin_of_text|>:0 $A:0 <|begin_of_text|>:1 $B:1 <|end_of_text|>:1",
    )
    names = {"bos_token": "<|begin_of_text|>", "eos_token": "<|end_of_text|>", "pad_token": "<|pad|>"}
    inputs = {"model_input_names": ["input_ids", "attention_mask"], "mask_token": "<|mask|>"}
    return tokenizer, {"tokenizer_class": "PreTrainedTokenizerFast", **names, **inputs}


def _openai() -> tuple[Tokenizer, dict[str, Any]]:
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.BertPreTokenizer(), decoders.BPEDecoder(suffix="</w>")
    trainer = trainers.BpeTrainer(
        vocab_size=PIECES, special_tokens=["<unk>"], end_of_word_suffix="</w>", show_progress=False
    )
    tokenizer.train_from_iterator(TEXTS, trainer)
    return tokenizer, {"tokenizer_class": "OpenAIGPTTokenizer", "unk_token": "<unk>"}


# Unigram


def _unigram(special: str, unknown: str, *, lowercase: bool = False, last: str = "") -> Tokenizer:
    """Make a Unigram tokenizer of special tokens, pieces, and the special tokens of `last`."""
    counts = _counts("▁" + word for text in TEXTS for word in (text.lower() if lowercase else text).split())
    total = counts.total()
    pieces = [(piece, round(math.log(count / total), 4)) for piece, count in counts.items()]
    before, after = special.split(), last.split()
    vocabulary = [(token, 0.0) for token in before] + pieces + [(token, 0.0) for token in after]
    tokenizer = Tokenizer(models.Unigram(vocabulary, unk_id=before.index(unknown)))
    metaspace = pre_tokenizers.Metaspace(prepend_scheme="always")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), metaspace])
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="always")
    masks = [token for token in (*before, *after) if token.lower() in ("[mask]", "<mask>")]
    tokens = [token for token in (*before, *after) if token not in masks]
    tokenizer.add_special_tokens([*tokens, *(AddedToken(mask, lstrip=True, special=True) for mask in masks)])
    return tokenizer


def _quotes(*more: Any) -> Any:
    replaced = [normalizers.Replace("``", '"'), normalizers.Replace("''", '"')]
    return normalizers.Sequence([*replaced, normalizers.NFKD(), normalizers.StripAccents(), *more])


def _albert(name: str = "AlbertTokenizer") -> tuple[Tokenizer, dict[str, Any]]:
    tokenizer = _unigram("<pad> <unk> [CLS] [SEP] [MASK]", "<unk>", lowercase=True)
    tokenizer.normalizer = _quotes(normalizers.Lowercase())
    _template(tokenizer)
    return tokenizer, {"tokenizer_class": name, "do_lower_case": True, "model_max_length": 512}


def _xlnet() -> tuple[Tokenizer, dict[str, Any]]:
    special = "<unk> <s> </s> <cls> <sep> <pad> <mask> <eod> <eop>"
    tokenizer = _unigram(special, "<unk>")
    tokenizer.normalizer = _quotes()
    _template(tokenizer, "$A:0 <sep>:0 <cls>:2", "$A:0 <sep>:0 $B:1 <sep>:1 <cls>:2")
    return tokenizer, {"tokenizer_class": "XLNetTokenizer", "do_lower_case": False}


def _xlm_roberta() -> tuple[Tokenizer, dict[str, Any]]:
    tokenizer = _unigram("<s> <pad> </s> <unk>", "<unk>", last="<mask>")
    _template(tokenizer, *_TWO_ENDS)
    return tokenizer, {"tokenizer_class": "XLMRobertaTokenizer", "model_max_length": 512}


def _camembert() -> tuple[Tokenizer, dict[str, Any]]:
    special = "<s>NOTUSED <pad> </s>NOTUSED <unk> <unk>NOTUSED <s> </s>"
    tokenizer = _unigram(special, "<unk>", last="<mask>")
    _template(tokenizer, *_TWO_ENDS)
    return tokenizer, {"tokenizer_class": "CamembertTokenizer", "model_max_length": 512}


def _t5() -> tuple[Tokenizer, dict[str, Any]]:
    extra = [f"<extra_id_{number}>" for number in range(100)]
    tokenizer = _unigram("<pad> </s> <unk>", "<unk>", last=" ".join(extra[::-1]))
    _template(tokenizer, "$A </s>", "$A </s> $B </s>")
    names = {"eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>", "extra_ids": 100}
    return tokenizer, {"tokenizer_class": "T5Tokenizer", "additional_special_tokens": extra, **names}


def _big_bird() -> tuple[Tokenizer, dict[str, Any]]:
    tokenizer = _unigram("<pad> </s> <s> <unk> [SEP] [MASK] [CLS]", "<unk>")
    _template(tokenizer)
    return tokenizer, {"tokenizer_class": "BigBirdTokenizer", "model_max_length": 4096}


def _deberta_v2() -> tuple[Tokenizer, dict[str, Any]]:
    tokenizer = _unigram("[PAD] [CLS] [SEP] [UNK]", "[UNK]", last="[MASK]")
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    _template(tokenizer)
    return tokenizer, {"tokenizer_class": "DebertaV2Tokenizer", "do_lower_case": False, "vocab_type": "spm"}


KINDS: Mapping[str, Callable[..., tuple[Tokenizer, dict[str, Any]]]] = {
    "albert": _albert,
    "bart": lambda: _roberta("BartTokenizer"),
    "bert": _wordpiece,
    "big_bird": _big_bird,
    "camembert": _camembert,
    "deberta": _deberta,
    "deberta-v2": _deberta_v2,
    "distilbert": lambda lowercase: _wordpiece(lowercase, "DistilBertTokenizer"),
    "electra": lambda lowercase: _wordpiece(lowercase, "ElectraTokenizer"),
    "eurobert": _eurobert,
    "fnet": lambda: _albert("FNetTokenizer"),
    "funnel": _funnel,
    "gpt2": _gpt2,
    "gpt_neox": _gpt_neox,
    "longformer": lambda: _roberta("LongformerTokenizer"),
    "modernbert": _modernbert,
    "mpnet": _mpnet,
    "openai-gpt": _openai,
    "qwen2": _qwen2,
    "qwen3": _qwen2,
    "roberta": _roberta,
    "t5": _t5,
    "xlm-roberta": _xlm_roberta,
    "xlnet": _xlnet,
}
"""The tokenizer of each model type."""
_CASED = ("bert", "distilbert", "electra", "funnel", "mpnet")
"""Model types whose tokenizers come with and without capital letters."""
