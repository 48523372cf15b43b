#include "all_headers.hpp"

std::string_view const* version_seen_by_the_other();

int main() {
  // One inline variable in both units, not two copies.
  return version_seen_by_the_other() == &prdist::version ? 0 : 1;
}
