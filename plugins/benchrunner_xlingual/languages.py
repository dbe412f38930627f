"""The languages of the benchmarks, as their files name them."""

from __future__ import annotations

XNLI_LANGUAGES = ("en", "fr", "es", "de", "el", "bg", "ru", "tr", "ar", "vi", "th", "zh", "hi", "sw", "ur")
"""In the order of Conneau et al. 2018. WikiANN, which has 176 languages, is answered in these by default."""
PAWSX_LANGUAGES = ("en", "de", "es", "fr", "ja", "ko", "zh")
SIB200_LANGUAGES = (
    *("eng_Latn", "fra_Latn", "spa_Latn", "deu_Latn", "ell_Grek", "bul_Cyrl", "rus_Cyrl", "tur_Latn"),
    *("arb_Arab", "vie_Latn", "tha_Thai", "zho_Hans", "hin_Deva", "swh_Latn", "urd_Arab"),
)
"""The languages of XNLI, of 205, as SIB-200 names them."""
