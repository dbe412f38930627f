"""Builds the kernels, once for each level of vector units; where there is no compiler, the install has none."""

import platform
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext

FLAGS = ["-std=c++17", "-O3", "-fno-math-errno", "-fno-trapping-math", "-fvisibility=hidden", "-Wno-psabi"]
LEVELS = {"base": []}
"""End of the functions' names -> flags of the compiler."""
if platform.machine() in ("x86_64", "AMD64"):
    LEVELS["avx2"] = ["-mavx2", "-mfma"]
    LEVELS["avx512"] = ["-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mfma"]
HEADERS = sorted(map(str, Path("benchrunner_kernels", "source").glob("*.h")))


class BuildKernels(build_ext):
    """Compiles the same file for each level, and links all of them to one library that any Python can load."""

    def get_ext_filename(self, fullname: str) -> str:
        return str(Path(*fullname.split(".")).with_suffix(".so"))

    def build_extension(self, ext: Extension) -> None:
        objects: list[str] = []
        for level, flags in LEVELS.items():
            objects += self.compiler.compile(
                ext.sources,
                output_dir=str(Path(self.build_temp, level)),
                macros=[("LEVEL", level)],
                depends=ext.depends,
                extra_postargs=FLAGS + flags,
            )
        self.compiler.link_shared_object(objects, self.get_ext_fullpath(ext.name), target_lang="c++")


class PlatformWheel(bdist_wheel):
    """Names a wheel for the platform alone: the library knows nothing of Python, nor of torch."""

    def get_tag(self) -> tuple[str, str, str]:
        return "py3", "none", super().get_tag()[2]


setup(
    ext_modules=[
        Extension(
            "benchrunner_kernels.libkernels", ["benchrunner_kernels/source/kernels.cpp"], depends=HEADERS, optional=True
        )
    ],
    cmdclass={"build_ext": BuildKernels, "bdist_wheel": PlatformWheel},
)
