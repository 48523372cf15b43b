#include <iostream>

#include <prdist/core/endpoint.hpp>
#include <prdist/core/error.hpp>
#include <prdist/version.hpp>

int main() {
  try {
    (void)prdist::parse_endpoint("10.0.0.4").value();
  } catch (prdist::Error const& error) {
    std::cout << prdist::version << ' ' << error.what() << '\n';
  }
}
