// expect: error: static.assert(ion)? failed.*prdist::concat: parts are texts, characters, numbers and bools
#include <prdist/core/text.hpp>

struct Point {
  int x = 0;
};

int main() {
  Point const point;
#ifdef CONTROL
  return static_cast<int>(prdist::concat("at ", point.x).size());
#else
  return static_cast<int>(prdist::concat("at ", point).size());
#endif
}
