#include "all_headers_reversed.hpp"

std::string_view const* version_seen_by_the_other() {
  return &prdist::version;
}
