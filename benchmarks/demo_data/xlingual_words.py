"""The words of the generated data sets: some words of each language, and the signs of the answers."""

from __future__ import annotations

WORDS = {
    "en": "today the dog sees an old house",
    "fr": "aujourd'hui le chien voit une vieille maison",
    "es": "hoy el perro ve una casa vieja",
    "de": "heute sieht der Hund ein altes Haus",
    "el": "σήμερα ο σκύλος βλέπει ένα παλιό σπίτι",
    "bg": "днес кучето вижда една стара къща",
    "ru": "сегодня собака видит старый дом",
    "tr": "bugün köpek eski bir ev görüyor",
    "ar": "اليوم يرى الكلب بيتا قديما",
    "vi": "hôm nay con chó thấy ngôi nhà cũ",
    "th": "วันนี้ สุนัข เห็น บ้าน เก่า",
    "zh": "今天 狗 看见 老 房子",
    "hi": "आज कुत्ता पुराना घर देखता है",
    "sw": "leo mbwa anaona nyumba ya zamani",
    "ur": "آج کتا پرانا گھر دیکھتا ہے",
    "ja": "今日 犬 は 古い 家 を 見る",
    "ko": "오늘 개 는 오래된 집 을 본다",
}
"""Language -> its words."""

NLI = {
    "entailment": ("indeed surely", "OK"),
    "neutral": ("perhaps maybe", "hm"),
    "contradiction": ("never not", "stop"),
}
"""Label -> the sign in English, and the international sign."""
PARAPHRASE = {"0": ("instead of", "contra"), "1": ("likewise again", "idem")}
TOPICS = {
    "science/technology": ("engine", "robot"),
    "travel": ("journey", "taxi"),
    "politics": ("vote", "parlament"),
    "sports": ("race", "tennis"),
    "health": ("fever", "virus"),
    "entertainment": ("song", "film"),
    "geography": ("river", "Amazonas"),
}
NAMES = {
    "PER": "Anna Berg|Tom Hale|Clara|Martin",
    "ORG": "Halden Oil|Tamar Air|Corvex|United Bank",
    "LOC": "Lisbon|New Harbour|Trieste|Porto",
}
"""Type -> its phrases, which are the same in all languages. No word belongs to two types."""
