"""The public names of `benchrunner_checkpoints`, each with its module."""

from benchrunner_checkpoints.attention import buckets as buckets
from benchrunner_checkpoints.attention.attention import attend as attend, attention_kernel as attention_kernel
from benchrunner_checkpoints.files import (
    hub_files as hub_files,
    sentence_files as sentence_files,
    tensor_files as tensor_files,
)
from benchrunner_checkpoints.recipe_files import read_recipes as read_recipes
from benchrunner_checkpoints.tokens import tokenizer_limits as tokenizer_limits
from benchrunner_checkpoints.tokens.word_cache import WordCache as WordCache
