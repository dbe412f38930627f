"""How the text architectures of the library read a batch, or why they are refused; a part of the documentation."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "architectures.md"
QUICK = ("opt", "squeezebert")
"""Model types that every run of the tests tries; all others are slow tests."""
_BATCHES = {
    "without padding": (
        "afmoe albert apertus arcee aria_text audioflamingo3 beam bert bert-generation bitnet camembert cohere "
        "cohere2 cohere2_moe ctrl cwm data2vec-text deberta-v2 diffllama distilbert electra ernie "
        "ernie4_5 ernie4_5_moe esm "
        "esmc eurobert exaone4 exaone_moe flex_olmo fuyu gemma gemma3 gemma3_text gemma4_unified "
        "gemma4_unified_text glm glm4 glm4_moe glmasr got_ocr2 gpt-sw3 gpt2 gpt_bigcode gpt_neox granite "
        "granite_speech granite_speech_plus granitemoe granitemoeshared gte helium hrm_text hy_v3 hyperclovax "
        "idefics2 idefics3 internlm3 iquestcoder jais2 jetmoe jina_embeddings_v3 kolibri1 laguna lfm2 llama "
        "llama4_text llava llava_next llava_next_video llava_onevision mellum minimax_m2 minimax_m3_vl_text "
        "ministral3 mistral mistral3 mixtral mllama modernbert modernbert-decoder modernvbert molmo2_text moshi "
        "musicflamingo nanochat nomic_bert olmo olmo2 olmo3 olmoe opt persimmon phi phi3 phi4_multimodal phimoe "
        "qwen2 qwen2_moe qwen3 qwen3_asr qwen3_moe roberta roberta-prelayernorm roc_bert seed_oss smollm3 "
        "solar_open starcoder2 ultrabert ultravbert video_llava vipllava voxtral xlm-roberta xlm-roberta-xl xmod"
    ),
    "padded": (
        "axk1 axk2 bailing_hybrid bart big_bird bigbird_pegasus biogpt blenderbot blenderbot-small bloom codegen "
        "deberta deepseek_v3 deepseek_v32 doge dots3_note_text falcon falcon_mamba "
        "flaubert flint gemma2 git glm4_moe_lite glm_moe_dsa gpt_neo gpt_neox_japanese gpt_oss gptj granite_swa "
        "granitemoe_swa hy_v4 ibert inkling2_text inkling_mm_model inkling_text jamba layoutlm led longcat_flash "
        "longformer longt5 luke m2m_100 mamba marian markuplm mbart megatron-bert minicpm3 minimax mistral_large4 "
        "mobilebert moss_transcribe_diarize mpnet mpt mt5 mvp nemotron_h nllb-moe olmo_hybrid openai-gpt "
        "openai_privacy_filter paligemma pegasus plbart prophetnet qwen2_audio rembert roformer rwkv splinter "
        "squeezebert stablelm switch_transformers t5 t5gemma tapas umt5 vaultgemma visual_bert xglm xlm xlnet "
        "youtu zaya"
    ),
    "equal lengths": "convbert cpmant fnet funnel nystromformer yoso",
}
BATCHES: Mapping[str, Sequence[str]] = {way: names.split() for way, names in _BATCHES.items()}
"""Way of reading a batch -> model types. Models for which lengths must be equal let padding change states."""
REFUSED: Mapping[str, str] = {
    "bros": "BrosModel cannot be run on token ids alone: You have to specify bbox",
    "canine": "CanineModel has no table of token embeddings.",
    "deepseek_v4": "holds weights that are not floating-point numbers",
    "flava": "FlavaModel has no table of token embeddings.",
    "fsmt": "FSMTModel gives logits, not states of the tokens. Add ':encoder' to use the encoder alone.",
    "idefics": "IdeficsModel cannot be run on token ids alone: Exactly 1 of pixel_values",
    "llama4": "Llama4ForConditionalGeneration gives logits, not states of the tokens.",
    "lxmert": "LxmertModel cannot be run on token ids alone: `visual_feats` cannot be `None`",
    "mra": "MraModel computes the state of each token from that token alone here",
    "t5gemma2": "T5Gemma2Encoder cannot be made of these settings",
    "unispeech": "UniSpeechModel reads no text.",
    "unispeech-sat": "UniSpeechSatModel reads no text.",
    "videomae": "VideoMAEModel reads no text.",
    "vit_mae": "ViTMAEModel reads no text.",
    "voxtral_realtime": "VoxtralRealtimeModel cannot be run on token ids alone: You must specify exactly one",
    "wav2vec2": "Wav2Vec2Model reads no text.",
    "wav2vec2-conformer": "Wav2Vec2ConformerModel reads no text.",
    "whisper": "WhisperModel reads no text.",
}
"""Model type -> part of the sentence that refuses it."""
_UNTRIED = (
    "bamba blt clip_text_model cohere_compass_text dbrx deepseek_v2 dots1 dots3_note emu3 evolla falcon_h1 "
    "florence2 fun_asr_nano gemma3n gemma3n_text gemma4 gemma4_text granitemoehybrid hiera hunyuan_v1_dense "
    "hunyuan_v1_moe inkling2 janus kimi_linear layoutlmv2 layoutlmv3 lfm2_moe lfm3 lilt mamba2 mimo_v2_flash "
    "ministral mistral4 musicgen musicgen_melody nemo_speechlm nemotron neomme pegasus_x perceiver qwen3_5 "
    "qwen3_5_moe qwen3_5_moe_text qwen3_5_text qwen3_next qwen4_exp qwen4_exp_text recurrent_gemma reformer "
    "seamless_m4t seamless_m4t_v2 tipsv2_text_model vibevoice_asr xlstm zamba zamba2"
)
UNTRIED = frozenset(_UNTRIED.split())
"""Model types whose tiny random model is not written down yet, or was not checked since the plugin changed."""
_BEGIN, _END = "<!-- families: begin -->\n", "<!-- families: end -->\n"
_WAYS = {
    "without padding": "Without padding",
    "padded": "In padded parts of similar lengths",
    "equal lengths": "In parts of equal lengths, because padding changes their states",
}


def families_section() -> str:
    """Return the lists of families in the documentation."""
    parts = [f"{_WAYS[way]} ({len(names)}): {', '.join(names)}." for way, names in BATCHES.items()]
    refusals = "; ".join(f"{name} ({reason.rstrip('.')})" for name, reason in REFUSED.items())
    parts.append(f"Refused ({len(REFUSED)}): {refusals}.")
    return _BEGIN + "\n" + "\n\n".join(map(_wrapped, parts)) + "\n\n" + _END


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 132, break_long_words=False, break_on_hyphens=False)


if __name__ == "__main__":
    content = PAGE.read_text(encoding="utf-8")
    before, after = content.split(_BEGIN)[0], content.split(_END)[1]
    PAGE.write_text(before + families_section() + after, encoding="utf-8")
