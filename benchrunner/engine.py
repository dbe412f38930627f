"""The part of the public surface that loads torch or numpy: what backbones, methods and problems are written with.

`import benchrunner` stays light; plugins import from here inside the modules or functions that need tensors.
"""

from benchrunner.backbones.attention import attend
from benchrunner.backbones.encoder import Encoder, ExportedHead, StackedLinear, recompute
from benchrunner.backbones.recurrence import read_one_way
from benchrunner.backbones.tensor_files import (
    check_finite,
    check_size,
    check_types,
    read_shapes,
    read_tensors,
    refuse,
)
from benchrunner.backbones.tokenizer_limits import check_ids, check_limits
from benchrunner.features.arrays import IGNORED, Features, Sequences
from benchrunner.features.blocks import Block, Bucket, buckets, ranges
from benchrunner.features.flat_batch import FlatBatch, collate, rounding
from benchrunner.features.pieces import Frame, Joined, Part, Pieces, longest_first
from benchrunner.features.randomness import Dropout, NoDropout, derived, generator, permutation, torch_draws_masks
from benchrunner.features.uploads import on_device
from benchrunner.features.word_cache import WordCache
from benchrunner.methods import steps
from benchrunner.methods.heads import Head, summarize
from benchrunner.training import step_log
from benchrunner.training.embedding_rows import narrowed
from benchrunner.training.feature_cache import Cache
from benchrunner.training.machine import flushed_denormals
from benchrunner.training.optimizer import AdamW, clipping_divisor, decay_groups
from benchrunner.training.schedule import share_of_peak

__all__ = [
    "IGNORED",
    "AdamW",
    "Block",
    "Bucket",
    "Cache",
    "Dropout",
    "Encoder",
    "ExportedHead",
    "Features",
    "FlatBatch",
    "Frame",
    "Head",
    "Joined",
    "NoDropout",
    "Part",
    "Pieces",
    "Sequences",
    "StackedLinear",
    "WordCache",
    "attend",
    "buckets",
    "check_finite",
    "check_ids",
    "check_limits",
    "check_size",
    "check_types",
    "clipping_divisor",
    "collate",
    "decay_groups",
    "derived",
    "flushed_denormals",
    "generator",
    "longest_first",
    "narrowed",
    "on_device",
    "permutation",
    "ranges",
    "read_one_way",
    "read_shapes",
    "read_tensors",
    "recompute",
    "refuse",
    "rounding",
    "share_of_peak",
    "step_log",
    "steps",
    "summarize",
    "torch_draws_masks",
]
