# SPDX-License-Identifier: Apache-2.0
"""Conan 2 recipe of prdist. The package is headers and our own CMake files, so that find_package(prdist) is the same
with Conan and without. On a machine without a remote, cmake/conan/debian.profile takes the requirements from Debian:

    conan create . --profile:all cmake/conan/debian.profile --no-remote
"""

import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain
from conan.tools.files import copy, load
from conan.tools.scm import Version


class Prdist(ConanFile):
    name = "prdist"
    description = "Parameter-server training of recommendation models, header-only, C++20"
    license = "Apache-2.0"
    topics = ("parameter-server", "distributed-training", "ctr", "header-only")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    # They add requirements, not files: every package holds every header.
    options = {"nn": [True, False], "cuda": [True, False], "nccl": [True, False]}
    default_options = {"nn": False, "cuda": False, "nccl": False}
    exports_sources = "CMakeLists.txt", "LICENSE", "cmake/*", "include/*"
    no_copy_source = True

    # The first compilers that have the C++20 the headers use.
    compilers = {"gcc": "12", "clang": "14", "apple-clang": "15"}

    def set_version(self):
        header = load(self, os.path.join(self.recipe_folder, "include", "prdist", "version.hpp"))
        self.version = re.search(r'version = "([^"]+)"', header)[1]

    def requirements(self):
        self.requires("boost/[>=1.81 <2]", transitive_headers=True, transitive_libs=True)
        self.requires("xxhash/[>=0.8 <1]", transitive_headers=True, transitive_libs=True)
        self.requires("zlib/[>=1.2.11 <2]", transitive_headers=True, transitive_libs=True)
        if self.options.nn:
            self.requires("xtensor/[>=0.24 <1]", transitive_headers=True, transitive_libs=True)
            self.requires("openblas/[>=0.3 <1]", transitive_headers=True, transitive_libs=True)

    def package_id(self):
        # The headers are the same for every compiler and every option.
        self.info.clear()

    def validate(self):
        check_min_cppstd(self, 20)
        compiler = str(self.settings.compiler)
        oldest = self.compilers.get(compiler)
        if oldest and Version(self.settings.compiler.version) < oldest:
            raise ConanInvalidConfiguration(
                f"prdist needs {compiler} {oldest} or later, this is {self.settings.compiler.version}")
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration(f"prdist runs on Linux, this is {self.settings.os}")
        if self.options.nccl and not self.options.cuda:
            raise ConanInvalidConfiguration("the option nccl needs the option cuda: add -o 'prdist/*:cuda=True'")
        if self.options.cuda and not os.environ.get("CUDA_HOME"):
            raise ConanInvalidConfiguration(
                "the option cuda needs the CUDA toolkit, for which there is no recipe: set CUDA_HOME to its folder")

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["PRDIST_PACKAGE_ONLY"] = True
        toolchain.generate()

    def build(self):
        CMake(self).configure()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", src=self.source_folder, dst=os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = []
        # Our own config finds Boost and the rest wherever they come from; one made by CMakeDeps would not find what
        # the system provides.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("share", "cmake", "prdist")]
