# SPDX-License-Identifier: Apache-2.0
"""Installs this build into an empty prefix and uses it as a stranger would: by find_package and its components.

    installed.py CMAKE BUILD_FOLDER COMPILER COMPONENT,...
"""

import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = HERE.parent.parent / "test_package/program.cpp"
COMPONENTS = HERE / "components.cpp"


def run(*command, fails=False):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    print(done.stdout, flush=True)
    assert bool(done.returncode) == fails, f"exit code {done.returncode} from {command}"
    return " ".join(done.stdout.split())  # CMake breaks its messages into lines


def main(cmake, build, compiler, components):
    work = pathlib.Path(build) / "consumer"
    shutil.rmtree(work, ignore_errors=True)
    prefix = work / "prefix"
    run(cmake, "--install", build, "--prefix", prefix)
    # A moved prefix shows that no path of this tree is written into the package.
    prefix = prefix.rename(work / "moved")

    configure = [cmake, "-G", "Ninja", "-S", HERE, f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_CXX_COMPILER={compiler}",
                 f"-DCONSUMER_PROGRAM={PROGRAM}"]
    for wanted, program, says in [("prdist", PROGRAM, "row 7 is -2 -4"),
                                  (components.replace(",", ";"), COMPONENTS, "and its components")]:
        folder = work / program.stem
        run(*configure, "-B", folder, f"-DCONSUMER_COMPONENTS={wanted}", "-DCONSUMER_OPTIONAL=nccl",
            f"-DCONSUMER_PROGRAM={program}")
        run(cmake, "--build", folder)
        said = run(folder / "consumer")
        assert says in said, said

    said = run(*configure, "-B", work / "absent", "-DCONSUMER_COMPONENTS=prdist;teleport", fails=True)
    assert "this prdist was installed without 'teleport'; it has prdist" in said, said
    said = run(*configure, "-B", work / "boostless", "-DCONSUMER_COMPONENTS=prdist",
               "-DCMAKE_DISABLE_FIND_PACKAGE_Boost=ON", fails=True)
    assert "its component 'prdist' needs Boost 1.81 COMPONENTS json, which was not found" in said, said
    for text in prefix.rglob("*.cmake"):
        assert str(HERE.parent.parent) not in text.read_text(encoding="utf-8"), f"{text} names the source tree"


if __name__ == "__main__":
    main(*sys.argv[1:])
