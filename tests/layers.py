#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rules of CONTRIBUTING.md that a script can hold: which folder may include which, what no header may include,
and that every header is listed, tested and small. Prints one line per violation and fails when there is one.

    tests/layers.py [ROOT]
"""

import pathlib
import re
import sys

# Which folders of include/prdist/ a folder may include, besides itself. strategy, transport and device
# are axes: none names another, and server and trainer name none of them.
MAY_INCLUDE = {
    "core": "",
    "detail": "core",
    "wire": "core",
    "optim": "core",
    # A model declares its tables, so its concept speaks of their declaration; tables themselves stay out of sight.
    "concepts": "core wire/channel.hpp optim/optimizer.hpp table/spec.hpp table/initializer.hpp",
    "table": "core concepts optim",
    # Files alone: who writes when is a matter of servers and trainers.
    "checkpoint": "core wire/checksum.hpp table optim data/position.hpp data/line_reader.hpp data/npy.hpp",
    "strategy": "core concepts wire table optim",
    "transport": "core concepts wire",
    "device": "core concepts wire optim",
    "server": "core concepts wire table optim checkpoint",
    "trainer": "core concepts wire table optim",
    "fleet": "core concepts wire table optim checkpoint data/position.hpp data/deal.hpp server trainer strategy transport device/cpu.hpp data/split_files.hpp",
    "data": "core",
    # A single process cuts dense weights as the servers do, for rules that look at a whole range.
    "nn": "core concepts table/spec.hpp table/initializer.hpp table/placement.hpp optim data",
    "launch": "core",
}
EVERYWHERE = {"version.hpp", "fwd.hpp", "detail"}

# What stands in include/prdist/ itself: umbrellas, which only include, and three of their own kind. None means any
# folder. The umbrella of the fleet is for the CPU: no user without a GPU shall need a toolkit.
UMBRELLAS = {"fleet.hpp": "core/stop_signal.hpp fleet strategy transport device/cpu.hpp", "nn.hpp": "nn data", "data.hpp": "data", "launch.hpp": "launch"}
TOP_LEVEL = UMBRELLAS | {"version.hpp": "", "fwd.hpp": "", "src.hpp": None}

# Folders beside include/. None means every public header.
PROGRAMS = {"generators": "core", "examples": None, "tools": None, "bench": None, "tests": None, "test_package": None}

# (pattern of the included name, pattern of the files it is refused in, why)
REFUSED = [
    (r"(inja|nlohmann)/", r"include/", "only generators/ may use it: every user would have to install it"),
    (r"boost/(asio|beast)\.hpp", r"include/", "an umbrella costs seconds in every file; include the parts used"),
    (r"boost/json\.hpp", r"include/.*\.hpp", "an umbrella costs a second in every file; include the parts used"),
    # A header named x_json.hpp is about JSON: who includes it asks for it.
    (r"boost/json/(?!fwd\.hpp).*", r"include/.*(?<!_json)\.hpp", "take boost/json/fwd.hpp; its use belongs in a .ipp"),
    (r"prdist/.*\.ipp", r"(?!include/).*", "a .ipp is reached through its header or prdist/src.hpp"),
    (r"prdist/detail/.*", r"(?!include/|tests/).*", "prdist/detail/ is private"),
]

# Headers with no behaviour to test: what they hold is exercised wherever they are included.
NEEDS_NO_TEST = {*TOP_LEVEL, "core/decl.hpp"}

# Headers still without the test of their name. Take an entry out when its test is written; never add one.
AWAITING_TEST = set()

LINE_BUDGET = 400
# Longer headers, each with the reason that also stands in CONTRIBUTING.md.
OVER_BUDGET = {}

# Ours are two; the last is xxHash's own switch, which has to stand before its include.
MACROS = {"PRDIST_SEPARATE_COMPILATION", "PRDIST_DECL", "XXH_INLINE_ALL"}
SUFFIXES = {".hpp", ".ipp", ".cpp", ".cu", ".cuh"}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)


def permitted(name, allowed):
    """Whether prdist/NAME is one of the folders or files in `allowed`."""
    return allowed is None or name in allowed or name.split("/")[0] in allowed


class Tree:
    def __init__(self, root):
        self.root = root
        self.text = {}
        for top in ["include", *PROGRAMS]:
            for path in sorted((root / top).rglob("*")):
                if path.suffix in SUFFIXES and "build" not in path.relative_to(root).parts:
                    self.text[path.relative_to(root).as_posix()] = path.read_text(encoding="utf-8")
        self.includes = {
            file: [(text.count("\n", 0, match.start()) + 1, match[1], match[2]) for match in INCLUDE.finditer(text)]
            for file, text in self.text.items()
        }
        self.headers = {
            file.removeprefix("include/prdist/"): file for file in self.text if file.startswith("include/prdist/")
        }

    def reached(self, file, seen=None):
        """Every name that `file` includes, directly or through headers of ours, with the header that names it."""
        seen = {} if seen is None else seen
        for _, _, name in self.includes[file]:
            if name not in seen:
                seen[name] = file
                below = "include/" + name
                if below in self.includes:
                    self.reached(below, seen)
        return seen


def directions(tree):
    for file, includes in tree.includes.items():
        parts = file.removeprefix("include/prdist/").split("/")
        if file not in tree.headers.values():
            allowed = PROGRAMS[parts[0]]
        elif len(parts) == 1:
            if parts[0] not in TOP_LEVEL:
                yield f"{file}:1: include/prdist/ itself holds only {', '.join(TOP_LEVEL)}: give it a folder"
                continue
            allowed = TOP_LEVEL[parts[0]]
        elif parts[0] in MAY_INCLUDE:
            allowed = parts[0] + " " + MAY_INCLUDE[parts[0]]
        else:
            yield f"{file}:1: folder '{parts[0]}' has no row in tests/layers.py: say there what it may include"
            continue
        allowed = None if allowed is None else set(allowed.split()) | EVERYWHERE
        for line, quote, name in includes:
            if quote == '"' and file.startswith("include/"):
                yield f'{file}:{line}: "{name}": headers include <prdist/...>, so that installed copies find each other'
            if name.startswith("prdist/") and not permitted(name.removeprefix("prdist/"), allowed):
                yield f"{file}:{line}: <{name}> is not one of those it may include ({' '.join(sorted(allowed))})"


def refused(tree):
    for file, includes in tree.includes.items():
        for line, _, name in includes:
            for what, where, why in REFUSED:
                if re.match(what + "$" if not what.endswith("/") else what, name) and re.match(where, file):
                    yield f"{file}:{line}: <{name}>: {why}"


def device_code_without_network(tree):
    for file in tree.text:
        if file.startswith("include/prdist/device/") or file.endswith((".cu", ".cuh")):
            for name, via in tree.reached(file).items():
                if re.match(r"boost/(asio|beast)\b", name):
                    yield f"{file}:1: reaches <{name}> through {via}: nvcc does not compile it"


def no_circles(tree):
    for file in tree.headers.values():
        own = file.removeprefix("include/")
        # A header and the .ipp that holds its bodies do name each other.
        reached = {n: via for n, via in tree.reached(file).items() if not via.endswith(".ipp")}
        if own in reached and not file.endswith(".ipp"):
            yield f"{file}:1: includes itself through {reached[own]}"


def listed_and_tested(tree):
    listing = (tree.root / "cmake/headers.cmake").read_text(encoding="utf-8")
    listed = set(re.findall(r"\binclude/prdist/[\w./-]+", re.sub(r"#.*", "", listing)))
    for name, file in tree.headers.items():
        if file not in listed:
            yield f"{file}:1: is not listed in cmake/headers.cmake: it would not be installed"
        stem = "tests/" + name.rsplit(".", 1)[0]
        tested = stem + ".cpp" in tree.text or stem + ".cu" in tree.text
        if name.endswith(".hpp") and name not in NEEDS_NO_TEST:
            if not tested and name not in AWAITING_TEST:
                yield f"{file}:1: has no test: write {stem}.cpp"
            if tested and name in AWAITING_TEST:
                yield f"tests/layers.py:1: {name} has its test now: take it out of AWAITING_TEST"
    for file in sorted(listed - set(tree.headers.values())):
        yield f"cmake/headers.cmake:1: lists {file}, which does not exist"
    for name in sorted(AWAITING_TEST - tree.headers.keys()):
        if (tree.root / "tests/layers.py").exists():
            yield f"tests/layers.py:1: AWAITING_TEST names {name}, which does not exist"


def form(tree):
    for name, file in tree.headers.items():
        text = tree.text[file]
        if not text.startswith("// SPDX-License-Identifier: Apache-2.0\n// "):
            yield f"{file}:1: begins with the SPDX line, then with what the header gives"
        if name.endswith(".hpp") and "\n#pragma once\n" not in text:
            yield f"{file}:1: has no #pragma once"
        lines = text.count("\n")
        if lines > LINE_BUDGET and name not in OVER_BUDGET:
            yield f"{file}:{LINE_BUDGET}: has {lines} lines, the budget is {LINE_BUDGET}: split it"
        for match in re.finditer(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", text, re.MULTILINE):
            if match[1] not in MACROS:
                line = text.count("\n", 0, match.start()) + 1
                yield f"{file}:{line}: defines {match[1]}: the only macros are {', '.join(sorted(MACROS))}"
    for name in UMBRELLAS.keys() & tree.headers.keys():
        for number, line in enumerate(tree.text[tree.headers[name]].splitlines(), 1):
            if line.strip() and not re.match(r"//|#pragma once$|#include <", line):
                yield f"{tree.headers[name]}:{number}: an umbrella only includes"


def generators(tree):
    for file, text in tree.text.items():
        if not file.startswith("generators/"):
            continue
        if not text.startswith("// SPDX-License-Identifier: Apache-2.0\n"):
            yield f"{file}:1: begins with the SPDX line"
        if text.count("\n") > LINE_BUDGET:
            yield f"{file}:{LINE_BUDGET}: has {text.count(chr(10))} lines, the budget is {LINE_BUDGET}: split it"
        for line, _, name in tree.includes[file]:
            # It takes seven seconds to compile, in every file that names it.
            if name.startswith("inja/") and file != "generators/render.cpp":
                yield f"{file}:{line}: <{name}>: only generators/render.cpp includes inja"


RULES = [directions, refused, device_code_without_network, no_circles, listed_and_tested, form, generators]


def violations(root):
    tree = Tree(pathlib.Path(root))
    return [line for rule in RULES for line in rule(tree)]


def main():
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent
    found = violations(root)
    print(*found, sep="\n", end="\n" if found else "")
    print(f"layers: {len(found)} violations" if found else "layers: every include points the right way")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
