# prdist's requirements as Debian 12 packages them, for machines that reach no Conan remote.
include(default)

[settings]
compiler.cppstd=20

[conf]
# ./dev installs Ninja and no make.
tools.cmake.cmaketoolchain:generator=Ninja

[platform_requires]
boost/1.81.0
xxhash/0.8.1
zlib/1.2.13
xtensor/0.24.3
openblas/0.3.21
