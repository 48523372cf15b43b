// Links what it was given: whether components are found and carry their flags. test_package has the program that works.
#include <prdist/core/text.hpp>
#include <prdist/version.hpp>

#include <iostream>

int main() {
  std::cout << prdist::concat("prdist ", prdist::version, " and its components\n");
}
