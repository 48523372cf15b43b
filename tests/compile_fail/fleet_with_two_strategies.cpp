// expect: prdist::Fleet: Strategy<\.\.\.> was given twice
#define PRDIST_SEPARATE_COMPILATION  // nothing is linked: the bodies would only cost time
#include <prdist/fleet.hpp>

using namespace prdist;

#ifdef CONTROL
using Chosen = Fleet<Strategy<Async>>::StrategyChoice;
#else
using Chosen = Fleet<Strategy<Async>, Strategy<Sync>>::StrategyChoice;
#endif
