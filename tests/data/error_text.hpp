// What a call complains of.
#pragma once

#include <string>

#include <prdist/core/error.hpp>

/// The text of the prdist::Error that `call` throws, or "no error".
template <class Call>
std::string error_of(Call&& call) {
  try {
    call();
  } catch (prdist::Error const& error) {
    return error.what();
  }
  return "no error";
}
