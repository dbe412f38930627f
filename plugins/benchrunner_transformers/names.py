"""Names of models: references to folders and hub ids, and the released models on the hub."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self, final

ENCODER = ":encoder"
"""End of a reference to the encoder of a model that has an encoder and a decoder."""


@final
@dataclass(frozen=True)
class Reference:
    """A reference that was taken apart."""

    model: str
    """Folder or hub id, perhaps with @REVISION."""
    encoder_only: bool

    @classmethod
    def parse(cls, text: str) -> Self:
        """Take a reference apart."""
        return cls(text.removesuffix(ENCODER), text.endswith(ENCODER))

    def released(self) -> tuple[Self, str] | None:
        """Return the reference to a released model that this names, with its description; None for other models."""
        name, at, revision = self.model.partition("@")
        for text, about in RELEASED.items():
            model = text.removesuffix(ENCODER)
            if name in (model, model.rpartition("/")[2]):
                return type(self)(f"{model}{at}{revision}", self.encoder_only), about
        return None


RELEASED: Mapping[str, str] = {
    "FacebookAI/roberta-base": "RoBERTa (Liu et al. 2019): 12 layers, 768 wide",
    "FacebookAI/roberta-large": "RoBERTa (Liu et al. 2019): 24 layers, 1024 wide",
    "FacebookAI/xlm-roberta-base": "XLM-R, 100 languages (Conneau et al. 2020): 12 layers, 768 wide",
    "FacebookAI/xlm-roberta-large": "XLM-R, 100 languages (Conneau et al. 2020): 24 layers, 1024 wide",
    "albert/albert-base-v2": "ALBERT (Lan et al. 2020): 12 layers with shared weights, 768 wide",
    "albert/albert-large-v2": "ALBERT (Lan et al. 2020): 24 layers with shared weights, 1024 wide",
    "albert/albert-xlarge-v2": "ALBERT (Lan et al. 2020): 24 layers with shared weights, 2048 wide",
    "albert/albert-xxlarge-v2": "ALBERT (Lan et al. 2020): 12 layers with shared weights, 4096 wide",
    "google/electra-small-discriminator": "ELECTRA (Clark et al. 2020): 12 layers, 256 wide",
    "google/electra-base-discriminator": "ELECTRA (Clark et al. 2020): 12 layers, 768 wide",
    "google/electra-large-discriminator": "ELECTRA (Clark et al. 2020): 24 layers, 1024 wide",
    "microsoft/deberta-base": "DeBERTa (He et al. 2021): 12 layers, 768 wide",
    "microsoft/deberta-large": "DeBERTa (He et al. 2021): 24 layers, 1024 wide",
    "microsoft/deberta-v3-xsmall": "DeBERTa v3 (He et al. 2023): 12 layers, 384 wide",
    "microsoft/deberta-v3-small": "DeBERTa v3 (He et al. 2023): 6 layers, 768 wide",
    "microsoft/deberta-v3-base": "DeBERTa v3 (He et al. 2023): 12 layers, 768 wide",
    "microsoft/deberta-v3-large": "DeBERTa v3 (He et al. 2023): 24 layers, 1024 wide",
    "distilbert/distilbert-base-uncased": "DistilBERT (Sanh et al. 2019): 6 layers, 768 wide",
    "distilbert/distilbert-base-cased": "DistilBERT (Sanh et al. 2019) with capital letters kept: 6 layers, 768 wide",
    "distilbert/distilroberta-base": "DistilRoBERTa (Sanh et al. 2019): 6 layers, 768 wide",
    "allenai/longformer-base-4096": "Longformer (Beltagy et al. 2020): 4,096 tokens, 12 layers, 768 wide",
    "allenai/longformer-large-4096": "Longformer (Beltagy et al. 2020): 4,096 tokens, 24 layers, 1024 wide",
    "google/bigbird-roberta-base": "BigBird (Zaheer et al. 2020): 4,096 tokens, 12 layers, 768 wide",
    "google/bigbird-roberta-large": "BigBird (Zaheer et al. 2020): 4,096 tokens, 24 layers, 1024 wide",
    "answerdotai/ModernBERT-base": "ModernBERT (Warner et al. 2024): 8,192 tokens, 22 layers, 768 wide",
    "answerdotai/ModernBERT-large": "ModernBERT (Warner et al. 2024): 8,192 tokens, 28 layers, 1024 wide",
    "jhu-clsp/ettin-encoder-17m": "Ettin (Weller et al. 2025), ModernBERT's architecture: 7 layers, 256 wide",
    "jhu-clsp/ettin-encoder-32m": "Ettin (Weller et al. 2025), ModernBERT's architecture: 10 layers, 384 wide",
    "jhu-clsp/ettin-encoder-68m": "Ettin (Weller et al. 2025), ModernBERT's architecture: 19 layers, 512 wide",
    "jhu-clsp/ettin-encoder-150m": "Ettin (Weller et al. 2025), ModernBERT's architecture: 22 layers, 768 wide",
    "jhu-clsp/ettin-encoder-400m": "Ettin (Weller et al. 2025), ModernBERT's architecture: 28 layers, 1024 wide",
    "jhu-clsp/ettin-encoder-1b": "Ettin (Weller et al. 2025), ModernBERT's architecture: 28 layers, 1792 wide",
    "EuroBERT/EuroBERT-210m": "EuroBERT (Boizard et al. 2025): 8,192 tokens, 210M parameters",
    "EuroBERT/EuroBERT-610m": "EuroBERT (Boizard et al. 2025): 8,192 tokens, 610M parameters",
    "microsoft/mpnet-base": "MPNet (Song et al. 2020): 12 layers, 768 wide",
    "xlnet/xlnet-base-cased": "XLNet (Yang et al. 2019): 12 layers, 768 wide",
    "xlnet/xlnet-large-cased": "XLNet (Yang et al. 2019): 24 layers, 1024 wide",
    "google/fnet-base": "FNet, Fourier transforms in place of attention (Lee-Thorp et al. 2022): 12 layers, 768 wide",
    "google/fnet-large": "FNet, Fourier transforms in place of attention (Lee-Thorp et al. 2022): 24 layers, 1024 wide",
    "openai-community/openai-gpt": "GPT, left to right (Radford et al. 2018): 12 layers, 768 wide",
    "openai-community/gpt2": "GPT-2, left to right (Radford et al. 2019): 12 layers, 768 wide",
    "openai-community/gpt2-medium": "GPT-2, left to right (Radford et al. 2019): 24 layers, 1024 wide",
    "EleutherAI/pythia-70m": "Pythia, left to right (Biderman et al. 2023): 6 layers, 512 wide",
    "EleutherAI/pythia-160m": "Pythia, left to right (Biderman et al. 2023): 12 layers, 768 wide",
    "EleutherAI/pythia-410m": "Pythia, left to right (Biderman et al. 2023): 24 layers, 1024 wide",
    "Qwen/Qwen2.5-0.5B": "Qwen2.5, left to right: 24 layers, 896 wide",
    "Qwen/Qwen3-0.6B-Base": "Qwen3, left to right: 28 layers, 1024 wide",
    "google-t5/t5-small": "encoder of T5 (Raffel et al. 2020): 6 layers, 512 wide",
    "google-t5/t5-base": "encoder of T5 (Raffel et al. 2020): 12 layers, 768 wide",
    "google-t5/t5-large": "encoder of T5 (Raffel et al. 2020): 24 layers, 1024 wide",
    "facebook/bart-base": "BART, encoder and decoder (Lewis et al. 2020): 6 + 6 layers, 768 wide",
    f"facebook/bart-base{ENCODER}": "encoder of BART (Lewis et al. 2020): 6 layers, 768 wide",
    "facebook/bart-large": "BART, encoder and decoder (Lewis et al. 2020): 12 + 12 layers, 1024 wide",
    f"facebook/bart-large{ENCODER}": "encoder of BART (Lewis et al. 2020): 12 layers, 1024 wide",
}
"""Hub id, with the suffix of a part -> description in one line. The last part of an id names the model, too."""
