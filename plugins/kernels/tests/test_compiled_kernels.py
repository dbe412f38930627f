"""The compiled library: built where there is a compiler, tested before it is used, and never read out of bounds."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from kernel_samples import BOTH, kernels, needs_library, numbers, starts_of

from benchrunner_kernels import compiled
from benchrunner_kernels.compiled import FILE, checked_kernels
from benchrunner_kernels.library import Library
from benchrunner_kernels.self_test import TESTS

HOME = Path(__file__).parents[1]
SOURCE = HOME / "benchrunner_kernels" / "source" / "kernels.cpp"


@pytest.mark.skipif(shutil.which("g++") is None, reason="there is no compiler")
def test_the_library_is_built_where_a_compiler_is() -> None:
    assert FILE.is_file()


@needs_library
def test_all_kernels_pass_their_tests_on_this_machine() -> None:
    made = checked_kernels()
    assert made.library is not None
    slower = compiled.SLOWER.get(made.library.level, ())
    assert made.operators == tuple(name for name in TESTS if name not in slower) and made.notes == ()
    assert made.library.level in made.name


@needs_library
def test_a_kernel_that_is_slower_than_torch_is_left_to_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    library = checked_kernels().library
    assert library is not None
    monkeypatch.setattr(compiled, "SLOWER", {library.level: ("gelu",)})
    made = checked_kernels()
    assert "gelu" not in made.operators and "attend" in made.operators and made.notes == ()
    assert made.gelu(numbers(4)) is None


@needs_library
def test_a_kernel_that_fails_its_test_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "TESTS", {**TESTS, "attend": lambda library: False})
    monkeypatch.setattr(compiled, "SLOWER", {})
    made = checked_kernels()
    assert made.operators == ("attend_by_distance", "add_and_norm", "gelu", "adamw")
    assert made.notes == ("The kernel 'attend' fails its test on this machine: torch computes in its place.",)
    assert made.attend(numbers(4, 3, 1, 8), starts_of((4,)), BOTH, 0.0, 0) is None


@needs_library
def test_a_library_that_lacks_a_kernel_is_used_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def mends(library: Library) -> bool:
        library.call("mend", torch.float32)
        return True

    monkeypatch.setattr(compiled, "TESTS", {**TESTS, "mend": mends})
    monkeypatch.setattr(compiled, "SLOWER", {})
    made = checked_kernels()
    assert made.operators == tuple(TESTS) and len(made.notes) == 1 and "'mend'" in made.notes[0]


def test_without_a_library_torch_computes_and_a_note_says_so(tmp_path: Path) -> None:
    made = checked_kernels(tmp_path / "absent.so")
    assert made.operators == () and "install a C++ compiler" in made.notes[0]
    assert made.attend(numbers(4, 3, 1, 8), starts_of((4,)), BOTH, 0.0, 0) is None


def test_a_damaged_library_is_not_used(tmp_path: Path) -> None:
    file = tmp_path / "damaged.so"
    file.write_bytes(b"no library")
    made = checked_kernels(file)
    assert made.operators == () and str(file) in made.notes[0]


def test_the_plugin_installs_without_a_compiler(tmp_path: Path) -> None:
    for name in ("pyproject.toml", "setup.py", "LICENSE", "README.md"):
        shutil.copy(HOME / name, tmp_path)
    leave = shutil.ignore_patterns("__pycache__", "*.so")
    shutil.copytree(HOME / "benchrunner_kernels", tmp_path / "benchrunner_kernels", ignore=leave)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation"]
    environment = {**os.environ, "CC": "/nowhere/cc", "CXX": "/nowhere/c++"}
    subprocess.run([*pip, "--target", tmp_path / "site", tmp_path], check=True, env=environment)
    package = tmp_path / "site" / "benchrunner_kernels"
    assert (package / "compiled.py").is_file() and not list(package.glob("*.so"))


CHECKED = """
import itertools, sys
from pathlib import Path
import torch
import kernel_samples, test_adam_kernel, test_attention_kernel, test_distance_kernel, test_gelu_kernel, test_norm_kernel
from benchrunner_kernels.compiled import CompiledKernels
from benchrunner_kernels.library import Library
from benchrunner_kernels.self_test import TESTS

library = Library(Path(sys.argv[1]))
library.level = sys.argv[2]
made = CompiledKernels("checked", tuple(TESTS), (), library)
for name, module in list(globals().items()):
    if name.startswith(("kernel_", "test_")):
        module.kernels = lambda: made
kinds = (torch.float32, torch.bfloat16)
for size, kind, sides in itertools.product((1, 7, 16, 33), kinds, ((-1, -1), (3, 3), (-1, 0))):
    test_attention_kernel.check((1, 5, 16, 50, 61), 2, size, sides, rate=0.2, kind=kind, filling=2)
for size, kind, terms in itertools.product((1, 7, 16, 33), kinds, ("keys", "queries", "keys and queries")):
    test_distance_kernel.check((1, 5, 16, 50, 61), 2, size, terms, rate=0.2, kind=kind)
for width, kind in itertools.product((2, 9, 16, 31), kinds):
    test_norm_kernel.check(35, width, rate=0.2, kind=kind)
for count in (1, 9, 33, 2**14 + 3):
    test_gelu_kernel.check(count)
    for kind in kinds:
        test_adam_kernel.check(count, kind)
        test_adam_kernel.check_norm(count, kind)
print("checked")
"""
"""Runs all kernels over arrays whose ends AddressSanitizer guards."""


@pytest.mark.slow
@needs_library
@pytest.mark.parametrize("level", ["base", "avx2", "avx512"])
def test_no_kernel_reads_or_writes_outside_of_arrays(level: str, tmp_path: Path) -> None:
    made = kernels().library
    if level != "base" and (made is None or level > made.level):  # avx2 < avx512 < base
        pytest.skip(f"this processor has no {level}")
    runtime = subprocess.run(["g++", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
    flags = {"base": [], "avx2": ["-mavx2", "-mfma"], "avx512": ["-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl"]}
    library = tmp_path / "checked.so"
    words = ["-std=c++17", "-O1", "-g", "-fPIC", "-shared", "-fsanitize=address", "-Wno-psabi", f"-DLEVEL={level}"]
    subprocess.run(["g++", *words, *flags[level], SOURCE, "-o", library], check=True)
    environment = {
        **os.environ,
        "LD_PRELOAD": runtime.stdout.strip(),
        "ASAN_OPTIONS": "detect_leaks=0",
        "PYTHONPATH": str(Path(__file__).parent),
    }
    done = subprocess.run(
        [sys.executable, "-c", CHECKED, library, level], capture_output=True, text=True, env=environment
    )
    assert done.stdout == "checked\n", done.stderr[-3000:]
