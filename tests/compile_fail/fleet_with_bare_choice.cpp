// expect: constraint
// expect-gcc: policy<Policies>.*Policies = \{prdist::Async\}.* evaluated to .false.
// expect-clang: 'prdist::Async' does not satisfy 'policy'
// expect-clang: no type named 'axis' in 'prdist::Async'
#define PRDIST_SEPARATE_COMPILATION  // nothing is linked: the bodies would only cost time
#include <prdist/fleet.hpp>

#ifdef CONTROL
using Chosen = prdist::Fleet<prdist::Strategy<prdist::Async>>::StrategyChoice;
#else
using Chosen = prdist::Fleet<prdist::Async>::StrategyChoice;
#endif
