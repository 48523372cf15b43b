#include <iostream>

#include <prdist/core/endpoint.hpp>
#include <prdist/version.hpp>

int main() {
  auto const endpoint = prdist::parse_endpoint("10.0.0.4:36000").value();
  std::cout << "prdist " << prdist::version << ", server at " << to_string(endpoint) << '\n';
}
