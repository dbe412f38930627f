"""The layers of a frozen encoder that a recipe's `features` names."""

from __future__ import annotations

from benchrunner.errors import RequestError
from benchrunner.io.file_faults import either


def chosen_layers(choice: str, layers: int) -> list[int]:
    """Give the layers that a recipe's `features` names: 0 is the embeddings, `layers` the last layer."""
    layers_of = {
        "embeddings": [0],
        "second-to-last": [layers - 1],
        "last": [layers],
        "weighted-sum-last-4": list(range(layers - 3, layers + 1)),
        "concat-last-4": list(range(layers - 3, layers + 1)),
        "weighted-sum-all": list(range(1, layers + 1)),
        "weighted-sum-with-embeddings": list(range(layers + 1)),
    }
    possible = [name for name, numbers in layers_of.items() if numbers[0] >= (not name.endswith("embeddings"))]
    if choice not in possible:
        raise RequestError(
            f"--features {choice} needs a deeper encoder: this encoder has {layers} layer(s), enough for "
            f"{either(possible)}."
        )
    return layers_of[choice]
