// expect: prdist::Fleet: this policy needs a value, for example Fleet\{roles, Memory\{hub\}\}
#define PRDIST_SEPARATE_COMPILATION  // nothing is linked: the bodies would only cost time
#include <memory>

#include <prdist/fleet.hpp>
#include <prdist/transport/memory.hpp>

using namespace prdist;

int main() {
#ifdef CONTROL
  Fleet<Transport<Memory>> const fleet{Roles{}, Memory{std::make_shared<MemoryHub>()}};
#else
  Fleet<Transport<Memory>> const fleet{Roles{}};
#endif
}
