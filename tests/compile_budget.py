# SPDX-License-Identifier: Apache-2.0
"""What a header costs those who include it, in lines after preprocessing: unlike seconds, the same on every machine.

    compile_budget.py COMPILER FLAGS_FILE
"""

import pathlib
import subprocess
import sys

SEPARATE = "-DPRDIST_SEPARATE_COMPILATION"

# (header, flag, lines). A header may become dearer when what it gives is worth it: change the number and say why.
BUDGET = [
    ("fwd.hpp", SEPARATE, 35_000),
    ("core/error.hpp", SEPARATE, 90_000),
    ("fleet.hpp", SEPARATE, 166_000),
    ("fleet.hpp", "-UPRDIST_SEPARATE_COMPILATION", 307_000),
]


def lines_of(compiler, flags, header, flag):
    command = [compiler, f"@{flags}", flag, "-E", "-x", "c++", "-"]
    source = f"#include <prdist/{header}>\n"
    return subprocess.run(command, input=source, capture_output=True, text=True, check=True).stdout.count("\n")


def main(compiler, flags):
    over = 0
    include = pathlib.Path(__file__).resolve().parent.parent / "include/prdist"
    for header, flag, budget in BUDGET:
        if not (include / header).exists():
            continue
        lines = lines_of(compiler, flags, header, flag)
        verdict = "within" if lines <= budget else "OVER"
        print(f"{header} {flag}: {lines} lines, {verdict} the budget of {budget}")
        over += lines > budget
    if over:
        print("see which include brings them: COMPILER -H, or clang++ -ftime-trace")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
