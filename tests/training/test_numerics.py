"""What a record says of how a fit was computed."""

import pytest
import torch

from benchrunner.parameters.recipes import Recipe
from benchrunner.training import numerics
from benchrunner_kit.testing import TinyEncoder


def test_the_numerics_of_a_gpu_name_all_that_its_bits_depend_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "NVIDIA H100")
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (9, 0))
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setattr(torch.backends.cudnn, "version", lambda: 91002)
    facts = numerics.of_frozen("cuda:1", Recipe(precision="bf16"), TinyEncoder())
    expected = {"device": "cuda", "device_name": "NVIDIA H100", "capability": "9.0", "cuda": "13.0", "cudnn": 91002}
    assert expected.items() <= facts.items()
    assert facts["attention"] == {"predict": "flash"}


def test_the_numerics_of_a_cpu_name_no_cuda() -> None:
    facts = numerics.of_frozen("cpu", Recipe(precision="fp32"), TinyEncoder())
    assert facts["attention"] == {"predict": "grouped"}
    assert not {"cuda", "cudnn", "dropout_masks", "torch_settings", "kernel_choices"} & facts.keys()


def test_the_numerics_of_a_cpu_name_what_chooses_its_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX2")
    monkeypatch.setattr(torch.cpu, "_is_avx512_supported", lambda: False)
    monkeypatch.setattr(torch.cpu, "_is_avx2_supported", lambda: True)
    monkeypatch.setenv("MKL_CBWR", "COMPATIBLE")
    facts = numerics.of_frozen("cpu", Recipe(precision="fp32"), TinyEncoder())
    assert facts["capability"] == "AVX2" and facts["kernel_choices"] == {"MKL_CBWR": "COMPATIBLE"}
    assert "avx2" in facts["vector_units"] and "avx512" not in facts["vector_units"]


def test_numerics_name_the_kernels_of_linear_algebra(monkeypatch: pytest.MonkeyPatch) -> None:
    """OPENBLAS_CORETYPE chooses them, and changes the last bits of a head that scipy fits."""
    pool = {"user_api": "blas", "prefix": "libscipy_openblas", "version": "0.3.30", "architecture": "Haswell"}
    monkeypatch.setattr("threadpoolctl.threadpool_info", lambda: [{"user_api": "openmp"}, pool])
    facts = numerics.of_frozen("cpu", Recipe(precision="fp32"), TinyEncoder(), libraries=("scipy",))
    assert facts["blas"] == ["libscipy_openblas 0.3.30 Haswell"]


def test_numerics_name_unusual_settings_of_torch_and_libraries() -> None:
    encoder = TinyEncoder()
    encoder.libraries = ("safetensors",)
    torch.set_float32_matmul_precision("medium")
    try:
        facts = numerics.of_frozen("cpu", Recipe(precision="fp32"), encoder, libraries=("scipy",))
    finally:
        torch.set_float32_matmul_precision("highest")
    assert facts["torch_settings"] == {"float32 matmul precision": "medium"}
    assert {"safetensors", "scipy"} < facts["versions"].keys()
