// expect: prdist::Fleet: a value that belongs to none of its policies
#define PRDIST_SEPARATE_COMPILATION  // nothing is linked: the bodies would only cost time
#include <prdist/fleet.hpp>

using namespace prdist;

int main() {
#ifdef CONTROL
  Fleet<Strategy<Async>> const fleet{Roles{}, Async{.send_queue_size = 4}};
#else
  Fleet<Strategy<Async>> const fleet{Roles{}, Sync{}};
#endif
}
