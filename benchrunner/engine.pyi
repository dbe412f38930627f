"""The public names of `benchrunner.engine`, each with its module."""

from benchrunner import metrics as metrics
from benchrunner.backbones.backbone import (
    Backbone as Backbone,
    BackboneFamily as BackboneFamily,
    OneBackbone as OneBackbone,
)
from benchrunner.backbones.encoder import (
    Encoder as Encoder,
    ExportedHead as ExportedHead,
    StackedLinear as StackedLinear,
    recompute as recompute,
)
from benchrunner.backbones.export_kind import ExportKind as ExportKind
from benchrunner.backbones.finite_numbers import not_finite as not_finite
from benchrunner.errors import first_line as first_line
from benchrunner.features import arrays as arrays, blocks as blocks, flat_batch as flat_batch, randomness as randomness
from benchrunner.features.arrays import Features as Features, Sequences as Sequences
from benchrunner.features.flat_batch import FlatBatch as FlatBatch, collate as collate
from benchrunner.features.randomness import Dropout as Dropout
from benchrunner.features.tokenized_texts import Frame as Frame, Part as Part, Pieces as Pieces
from benchrunner.io import decoding as decoding, hub_access as hub_access, seals as seals
from benchrunner.io.files import (
    write_atomically as write_atomically,
    write_folder_atomically as write_folder_atomically,
    write_json as write_json,
)
from benchrunner.io.locks import held as held
from benchrunner.methods import heads as heads, steps as steps
from benchrunner.methods.finetune import Finetune as Finetune
from benchrunner.methods.method import Job as Job, Method as Method, Outcome as Outcome
from benchrunner.parameters.parameter import Parameter as Parameter
from benchrunner.problems import probabilities as probabilities, problem as problem
from benchrunner.problems.problem import HeadShape as HeadShape, Problem as Problem
from benchrunner.process import platform_facts as platform_facts
from benchrunner.training import gradients as gradients, optimizer as optimizer, step_log as step_log
from benchrunner.training.denormals import flushed_denormals as flushed_denormals
from benchrunner.training.embedding_rows import narrowed as narrowed
from benchrunner.training.feature_cache import Cache as Cache
from benchrunner.training.schedule import share_of_peak as share_of_peak
