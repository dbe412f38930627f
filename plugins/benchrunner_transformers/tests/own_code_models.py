"""A checkpoint with modelling code of its own: RMSNorm before each part, SwiGLU, rotary positions, no token types."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from tiny_tokenizers import write_tokenizer

LAYERS = """
import torch
from torch import nn
from torch.nn import functional


def rotated(x, angles):
    # x: (count, heads, length, size); neighbouring numbers are the two axes of a plane, turned by the token's angle
    even, odd = x[..., 0::2], x[..., 1::2]
    turned = torch.stack([even * angles.cos() - odd * angles.sin(), even * angles.sin() + odd * angles.cos()], -1)
    return turned.flatten(-2)


class Layer(nn.Module):
    def __init__(self, config):
        super().__init__()
        width = config.hidden_size
        self.heads = config.num_attention_heads
        self.attention_norm, self.inner_norm = nn.RMSNorm(width), nn.RMSNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.gate_and_value = nn.Linear(width, 2 * config.intermediate_size, bias=False)
        self.down = nn.Linear(config.intermediate_size, width, bias=False)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x, mask, angles):
        count, length, width = x.shape
        qkv = self.qkv(self.attention_norm(x)).view(count, length, 3, self.heads, width // self.heads)
        query, key, value = qkv.permute(2, 0, 3, 1, 4)
        query, key = rotated(query, angles), rotated(key, angles)
        states = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        x = x + self.dropout(self.out(states.transpose(1, 2).reshape(count, length, width)))
        gate, value = self.gate_and_value(self.inner_norm(x)).chunk(2, -1)
        return x + self.dropout(self.down(functional.silu(gate) * value))
"""
"""The file layers.py."""

MODEL = """
import torch
from torch import nn
from transformers import PretrainedConfig, PreTrainedModel

from .layers import Layer


class NeoConfig(PretrainedConfig):
    model_type = "tiny_neo"

    def __init__(self, vocab_size=100, hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
                 intermediate_size=24, dropout=0.1, **more):
        super().__init__(**more)
        self.vocab_size, self.hidden_size, self.num_hidden_layers = vocab_size, hidden_size, num_hidden_layers
        self.num_attention_heads, self.intermediate_size = num_attention_heads, intermediate_size
        self.dropout = dropout


class Neo(PreTrainedModel):
    config_class = NeoConfig

    def __init__(self, config):
        super().__init__(config)
        self.encoder = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.num_hidden_layers))
        self.norm = nn.RMSNorm(config.hidden_size)
        size = config.hidden_size // config.num_attention_heads
        self.speeds = 10_000.0 ** -(torch.arange(0, size, 2) / size)
        self.post_init()

    def forward(self, input_ids, attention_mask):
        x = self.encoder(input_ids)
        angles = torch.arange(input_ids.shape[1], device=x.device)[:, None] * self.speeds.to(x.device)
        for layer in self.layers:
            x = layer(x, attention_mask.bool()[:, None, None, :], angles)
        return (self.norm(x),)
"""
"""The file modeling.py."""


def write_own_model(folder: Path, *, classes: dict[str, str] | None = None, **settings: Any) -> None:
    """Write the code, random weights and a tokenizer to a folder. `classes` replaces auto_map."""
    folder.mkdir(parents=True)
    size = write_tokenizer("bert", folder)
    config = {
        "model_type": "tiny_neo",
        "architectures": ["NeoForMaskedLM"],
        "auto_map": classes or {"AutoConfig": "modeling.NeoConfig", "AutoModel": "modeling.Neo"},
        "vocab_size": size,
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 24,
        **settings,
    }
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "layers.py").write_text(LAYERS)
    (folder / "modeling.py").write_text(MODEL)
    source = torch.Generator().manual_seed(0)
    shapes = {"encoder.weight": (size, 16), "norm.weight": (16,)}
    for layer in range(2):
        shapes |= {
            f"layers.{layer}.attention_norm.weight": (16,),
            f"layers.{layer}.inner_norm.weight": (16,),
            f"layers.{layer}.qkv.weight": (48, 16),
            f"layers.{layer}.out.weight": (16, 16),
            f"layers.{layer}.gate_and_value.weight": (48, 16),
            f"layers.{layer}.down.weight": (16, 24),
        }
    weights = {f"model.{name}": 0.3 * torch.randn(shape, generator=source) for name, shape in shapes.items()}
    save_file(weights | {"decoder.weight": torch.zeros(size, 16)}, folder / "model.safetensors")


MARK = """
import os as _os
def _mark(where):
    open(_os.path.join(_os.environ["MARKS"], f"{where}-{_os.getpid()}"), "w").close()
"""


def make_hostile(folder: Path) -> None:
    """Let the code of a checkpoint leave a file with its process id in the folder MARKS wherever it runs."""
    marked = f"{MARK}\n_mark('import')\n{MODEL}"
    marked = marked.replace('    model_type = "tiny_neo"\n', '    model_type = "tiny_neo"\n    _mark("class")\n')
    marked = marked.replace(
        "        super().__init__(**more)\n", "        super().__init__(**more)\n        _mark('config')\n"
    )
    marked = marked.replace(
        "        super().__init__(config)\n        self.encoder",
        "        super().__init__(config)\n        _mark('model')\n        self.encoder",
    )
    (folder / "modeling.py").write_text(marked)
    (folder / "__init__.py").write_text(f"{MARK}\n_mark('package')\n")
