# SPDX-License-Identifier: Apache-2.0
"""The harness must notice a case that compiles, says something else, or is wrong in more than the mistake it is about.

    selftest.py COMPILER FLAGS_FILE
"""

import pathlib
import sys
import tempfile

import run

CASES = {
    "": '// expect: asserts\n#ifndef CONTROL\nstatic_assert(false, "it asserts");\n#endif\n',
    "compiles, but should not": "// expect: asserts\nint main() {}\n",
    "no line of the compiler's output matches":
        '// expect: other\n#ifndef CONTROL\nstatic_assert(false, "it");\n#endif\n',
    "does not compile even with -DCONTROL": '// expect: asserts\nstatic_assert(false, "it asserts");\n',
    "has no '// expect": "int main() {}\n",
}

compiler, flags = sys.argv[1:]
with tempfile.TemporaryDirectory() as folder:
    for fault, source in CASES.items():
        case = pathlib.Path(folder, "case.cpp")
        case.write_text(source, encoding="utf-8")
        found = run.judge(compiler, flags, str(case))
        assert (fault in found) and bool(fault) == bool(found), f"expected '{fault}', found '{found}' for:\n{source}"
print(f"{len(CASES)} cases judged rightly")
