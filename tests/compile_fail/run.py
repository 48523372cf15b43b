# SPDX-License-Identifier: Apache-2.0
"""Code that must not compile, and what the compiler must say about it.

    run.py COMPILER FLAGS_FILE CASE.cpp

A case holds one `// expect: REGEX` line or more; each must match a line of the compiler's output (`// expect-gcc:`
and `// expect-clang:` hold for one compiler). With -DCONTROL the same file must compile, which shows that the mistake
under test, and nothing else, is what is refused.
"""

import os
import re
import subprocess
import sys


def compile_text(compiler, flags, case, *more):
    # Without the bodies in .ipp files: they have no part in what is refused, and take most of the time.
    command = [compiler, f"@{flags}", "-DPRDIST_SEPARATE_COMPILATION", "-fsyntax-only", "-fno-diagnostics-color", *more,
               case]
    environment = os.environ | {"LC_ALL": "C"}  # expectations are in English
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    return done.returncode, done.stdout + done.stderr


def family(compiler):
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout
    return "clang" if "clang" in version else "gcc"


def judge(compiler, flags, case):
    """What is wrong with the case, or nothing."""
    with open(case, encoding="utf-8") as file:
        source = file.read()
    expected = re.findall(rf"^// expect(?:-{family(compiler)})?: (.+)$", source, re.MULTILINE)
    if not expected:
        return f"{case}: has no '// expect: REGEX' line"
    failed, output = compile_text(compiler, flags, case, "-DCONTROL")
    if failed:
        return f"{case}: does not compile even with -DCONTROL:\n{output}"
    failed, output = compile_text(compiler, flags, case)
    if not failed:
        return f"{case}: compiles, but should not"
    for regex in expected:
        if not re.search(regex, output):
            return f"{case}: no line of the compiler's output matches: {regex}\n{output}"
    return ""


if __name__ == "__main__":
    fault = judge(*sys.argv[1:])
    print(fault or "refused as expected")
    sys.exit(1 if fault else 0)
