# SPDX-License-Identifier: Apache-2.0
"""A rule that cannot fail is no rule: every violation that layers.py names is made here once, in a small tree."""

import pathlib
import tempfile
import unittest

import layers

HEAD = "// SPDX-License-Identifier: Apache-2.0\n// A header.\n#pragma once\n"

CLEAN = {
    "include/prdist/fleet.hpp": HEAD + "#include <prdist/fleet/fleet.hpp>\n",
    "include/prdist/fleet/fleet.hpp": HEAD
    + "#include <prdist/transport/beast.hpp>\n#include <prdist/server/server.hpp>\n",
    "include/prdist/core/error.hpp": HEAD + "#include <string>\n",
    "include/prdist/table/spec.hpp": HEAD + "#include <prdist/core/error.hpp>\n",
    "include/prdist/table/sparse.hpp": HEAD + "#include <prdist/table/spec.hpp>\n",
    "include/prdist/concepts/model.hpp": HEAD + "#include <prdist/table/spec.hpp>\n",
    "include/prdist/device/cpu.hpp": HEAD + "#include <prdist/core/error.hpp>\n",
    "include/prdist/device/cuda.hpp": HEAD,
    "include/prdist/server/server.hpp": HEAD + "#include <prdist/table/sparse.hpp>\n",
    "include/prdist/transport/beast.hpp": HEAD + "#include <prdist/transport/beast.ipp>\n",
    "include/prdist/transport/beast.ipp": HEAD + "#include <boost/json.hpp>\n#include <prdist/transport/beast.hpp>\n",
    "tests/fleet.cpp": "#include <prdist/fleet.hpp>\n",
    "examples/a.cpp": "#include <prdist/fleet.hpp>\n",
}


def with_tests(files):
    """The listing and the empty tests that a tree of these headers needs."""
    headers = [name for name in files if name.startswith("include/")]
    for name in headers:
        if name.endswith(".hpp"):
            files.setdefault(name.replace("include/prdist/", "tests/").replace(".hpp", ".cpp"), "")
    files.setdefault("cmake/headers.cmake", "prdist_component(prdist HEADERS\n  " + "\n  ".join(headers) + ")\n")
    return files


class Layers(unittest.TestCase):
    def violations(self, changes=None, without=()):
        files = with_tests(CLEAN | (changes or {}))
        with tempfile.TemporaryDirectory() as root:
            for name, text in files.items():
                if name not in without:
                    path = pathlib.Path(root, name)
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_text(text, encoding="utf-8")
            awaiting, layers.AWAITING_TEST = layers.AWAITING_TEST, set()
            try:
                return layers.violations(root)
            finally:
                layers.AWAITING_TEST = awaiting

    def refuses(self, changes, *expected, without=()):
        found = "\n".join(self.violations(changes, without))
        for text in expected:
            self.assertIn(text, found)

    def header(self, name, body):
        return {f"include/prdist/{name}": HEAD + body}

    def test_a_clean_tree_has_none(self):
        self.assertEqual(self.violations(), [])

    def test_core_includes_nothing_above_it(self):
        self.refuses(self.header("core/error.hpp", "#include <prdist/wire/frame.hpp>\n"),
                     "include/prdist/core/error.hpp:4: <prdist/wire/frame.hpp> is not one of")

    def test_lower_layers_do_not_look_up_or_aside(self):
        for layer, other in [("wire", "table"), ("optim", "wire"), ("detail", "wire"), ("table", "wire"),
                             ("data", "nn"), ("nn", "server"), ("launch", "fleet"), ("fleet", "launch")]:
            self.refuses(self.header(f"{layer}/one.hpp", f"#include <prdist/{other}/two.hpp>\n"),
                         f"include/prdist/{layer}/one.hpp:4: <prdist/{other}/two.hpp> is not one of")

    def test_axes_never_meet(self):
        for one, other in [("strategy/sync", "transport/beast"), ("transport/memory", "device/cpu"),
                           ("device/cpu", "strategy/sync"), ("transport/beast", "device/cpu")]:
            self.refuses(self.header(f"{one}.hpp", f"#include <prdist/{other}.hpp>\n"),
                         f"include/prdist/{one}.hpp:4: <prdist/{other}.hpp> is not one of")

    def test_compositions_name_no_choice(self):
        for layer in ["server", "trainer"]:
            self.refuses(self.header(f"{layer}/one.hpp", "#include <prdist/strategy/async.hpp>\n"),
                         f"include/prdist/{layer}/one.hpp:4: <prdist/strategy/async.hpp>")

    def test_concepts_see_declarations_of_tables_only(self):
        self.refuses(self.header("concepts/model.hpp", "#include <prdist/table/sparse.hpp>\n"),
                     "include/prdist/concepts/model.hpp:4: <prdist/table/sparse.hpp>")

    def test_umbrella_is_for_the_cpu_and_only_includes(self):
        self.refuses(self.header("fleet.hpp", "#include <prdist/device/cuda.hpp>\nusing Fast = int;\n"),
                     "fleet.hpp:4: <prdist/device/cuda.hpp> is not one of", "fleet.hpp:5: an umbrella only includes")

    def test_generators_take_core_only(self):
        self.refuses({"generators/main.cpp": "#include <prdist/fleet.hpp>\n"},
                     "generators/main.cpp:1: <prdist/fleet.hpp>")

    def test_unknown_folders_and_top_level_headers(self):
        self.refuses(self.header("misc/a.hpp", ""), "misc/a.hpp:1: folder 'misc' has no row")
        self.refuses(self.header("misc.hpp", ""), "misc.hpp:1: include/prdist/ itself holds only")

    def test_headers_include_by_angle_brackets(self):
        self.refuses(self.header("core/error.hpp", '#include "text.hpp"\n'),
                     'core/error.hpp:4: "text.hpp": headers include')

    def test_costly_and_foreign_headers(self):
        for name in ["inja/inja.hpp", "nlohmann/json.hpp", "boost/asio.hpp", "boost/beast.hpp", "boost/json.hpp",
                     "boost/json/value.hpp"]:
            self.refuses(self.header("wire/frame.hpp", f"#include <{name}>\n"), f"wire/frame.hpp:4: <{name}>:")
        self.assertEqual(self.violations(self.header("wire/frame.hpp", "#include <boost/json/fwd.hpp>\n")), [])
        self.assertEqual(self.violations(self.header("wire/hello_json.hpp", "#include <boost/json/value.hpp>\n")), [])
        self.refuses(self.header("wire/hello_json.hpp", "#include <boost/json.hpp>\n"),
                     "hello_json.hpp:4: <boost/json")
        self.refuses({"include/prdist/transport/beast.ipp": HEAD + "#include <boost/asio.hpp>\n"},
                     "transport/beast.ipp:4: <boost/asio.hpp>:")

    def test_private_parts_stay_private(self):
        self.refuses({"examples/a.cpp": "#include <prdist/detail/x.hpp>\n"},
                     "examples/a.cpp:1: <prdist/detail/x.hpp>: ")
        self.refuses({"tests/fleet.cpp": "#include <prdist/transport/beast.ipp>\n"}, "tests/fleet.cpp:1: ")

    def test_device_code_never_reaches_the_network(self):
        self.refuses(self.header("core/net.hpp", "#include <boost/asio/ip/tcp.hpp>\n")
                     | self.header("device/cuda.hpp", "#include <prdist/core/net.hpp>\n"),
                     "device/cuda.hpp:1: reaches <boost/asio/ip/tcp.hpp> through include/prdist/core/net.hpp")
        self.refuses({"tests/device/kernel.cu": "#include <boost/beast/http.hpp>\n"},
                     "tests/device/kernel.cu:1: reaches")

    def test_circles(self):
        self.refuses(self.header("core/error.hpp", "#include <prdist/core/text.hpp>\n")
                     | self.header("core/text.hpp", "#include <prdist/core/error.hpp>\n"),
                     "core/error.hpp:1: includes itself through include/prdist/core/text.hpp")

    def test_headers_are_listed_and_tested(self):
        self.refuses({"cmake/headers.cmake": "HEADERS include/prdist/core/gone.hpp # include/prdist/core/error.hpp\n"},
                     "core/error.hpp:1: is not listed", "lists include/prdist/core/gone.hpp, which does not exist")
        self.refuses({}, "core/error.hpp:1: has no test: write tests/core/error.cpp", without=["tests/core/error.cpp"])

    def test_generators(self):
        self.refuses({"generators/a.cpp": "#include <string>\n"}, "generators/a.cpp:1: begins with the SPDX line")
        self.refuses({"generators/a.cpp": HEAD + "\n" * layers.LINE_BUDGET}, "lines, the budget is 400")
        self.refuses({"generators/a.cpp": HEAD + "#include <inja/inja.hpp>\n"}, "only generators/render.cpp includes inja")
        self.refuses({"generators/a.cpp": HEAD + "#include <prdist/fleet.hpp>\n"}, "is not one of those it may include")
        self.assertEqual(self.violations({"generators/render.cpp": HEAD + "#include <inja/inja.hpp>\n"}), [])

    def test_form(self):
        self.refuses({"include/prdist/core/error.hpp": "#include <string>\n"}, "begins with the SPDX line",
                     "no #pragma once")
        self.refuses(self.header("core/error.hpp", "\n" * layers.LINE_BUDGET), "lines, the budget is 400")
        self.refuses(self.header("core/error.hpp", "#define CHECK(x) x\n"), "core/error.hpp:4: defines CHECK")
        self.assertEqual(self.violations(self.header("core/error.hpp", "#define PRDIST_DECL inline\n")), [])


if __name__ == "__main__":
    unittest.main()
