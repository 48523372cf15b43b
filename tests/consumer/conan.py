# SPDX-License-Identifier: Apache-2.0
"""Creates the Conan package from this tree, with Debian's packages as its requirements, and consumes it from another
folder. Conan comes from PyPI into a virtual environment under the build folder; where that cannot be had, the test is
skipped and says so.

    conan.py CMAKE SOURCE_FOLDER WORK_FOLDER COMPILER COMPONENT,...
"""

import os
import pathlib
import shutil
import subprocess
import sys

CONAN = "conan>=2.9,<3"
SKIPPED = 77
OPTIONS = {"nn", "cuda", "nccl"}  # components that the recipe gives only to those who ask

CONANFILE = """
[requires]
prdist/{version}
[generators]
CMakeDeps
CMakeToolchain
"""


def run(*command, **more):
    print("+", *command, flush=True)
    subprocess.run([str(word) for word in command], check=True, **more)


def conan_program(work):
    """The conan of the virtual environment, or None when PyPI cannot be reached."""
    program = work / "venv/bin/conan"
    if not program.exists():
        try:
            run(sys.executable, "-m", "venv", "--clear", work / "venv")
            run(work / "venv/bin/pip", "install", "--quiet", "--retries", "1", "--timeout", "20", CONAN)
        except subprocess.CalledProcessError as error:
            print(f"skipped: conan could not be installed from PyPI: {error}")
            return None
    return program


def main(cmake, source, work, compiler, components):
    components = components.split(",")
    source, work = pathlib.Path(source), pathlib.Path(work)
    conan = conan_program(work)
    if conan is None:
        return SKIPPED
    # A home of its own: the user's packages and profiles neither help nor suffer.
    home = work / "home"
    shutil.rmtree(home, ignore_errors=True)
    environment = os.environ | {"CONAN_HOME": str(home), "CXX": compiler}
    # Without optimization: what is tested is that it compiles, links and runs.
    profile = ["--profile:all", source / "cmake/conan/debian.profile", "--no-remote", "-s:a", "build_type=Debug"]
    for component in components:
        if component in OPTIONS:
            profile += ["-o", f"prdist/*:{component}=True"]
    run(conan, "profile", "detect", env=environment)
    # Conan would build test_package in its own folder and leave presets there; the source tree stays as it is.
    elsewhere = ["-c:a", f"tools.cmake.cmake_layout:test_folder={work / 'test_package'}",
                 "-c:a", "tools.cmake.cmaketoolchain:user_presets="]
    run(conan, "create", source, *profile, *elsewhere, env=environment)
    version = subprocess.run([conan, "inspect", source, "--format=json"], env=environment, check=True,
                             capture_output=True, text=True).stdout
    version = version.split('"version": "')[1].split('"')[0]

    folder = work / "project"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(source / "tests/consumer", folder)
    (folder / "conanfile.txt").write_text(CONANFILE.format(version=version), encoding="utf-8")
    run(conan, "install", folder, *profile, *elsewhere, "--output-folder", folder / "build", env=environment)
    run(cmake, "-G", "Ninja", "-S", folder, "-B", folder / "build", "-DCMAKE_BUILD_TYPE=Debug",
        f"-DCMAKE_TOOLCHAIN_FILE={folder / 'build/conan_toolchain.cmake'}", f"-DCONSUMER_COMPONENTS={';'.join(components)}",
        f"-DCONSUMER_PROGRAM={folder / 'components.cpp'}")
    run(cmake, "--build", folder / "build")
    run(folder / "build/consumer")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
