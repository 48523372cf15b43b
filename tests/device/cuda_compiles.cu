// The GPU's side of the program: what a user's one .cu file holds, and the suite on a true GPU where there is one.
#include <prdist/device/cuda_kernels.hpp>

template class prdist::BasicCuda<prdist::CudaSystem>;

#include "suite.hpp"

namespace prdist::test {

static_assert(device_policy<Cuda>);

INSTANTIATE_TYPED_TEST_SUITE_P(Cuda, EveryDevice, Cuda, );

}  // namespace prdist::test
