"""What a record says of how a fit was computed."""

import pytest
import torch

from benchrunner.parameters.recipes import Recipe
from benchrunner.training import numerics


def test_the_numerics_of_a_gpu_name_all_that_its_bits_depend_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "NVIDIA H100")
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (9, 0))
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setattr(torch.backends.cudnn, "version", lambda: 91002)
    facts = numerics.of_frozen("cuda:1", Recipe(precision="bf16"), libraries=())
    expected = {"device": "cuda", "device_name": "NVIDIA H100", "capability": "9.0", "cuda": "13.0", "cudnn": 91002}
    assert expected.items() <= facts.items()
    assert facts["attention"] == {"predict": "flash"}


def test_the_numerics_of_a_cpu_name_no_cuda() -> None:
    facts = numerics.of_frozen("cpu", Recipe(precision="fp32"), libraries=())
    assert facts["attention"] == {"predict": "grouped"}
    assert not {"capability", "cuda", "cudnn", "dropout_masks"} & facts.keys()
