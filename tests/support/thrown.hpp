// SPDX-License-Identifier: Apache-2.0
// The Error that a call throws, so that a test can look at its code and its text.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include <prdist/core/error.hpp>

namespace prdist::test {

/// What `call` throws; a failure of the test when it returns.
template <class Call>
Error thrown(Call&& call) {
  try {
    call();
  } catch (Error const& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

/// Whether `text` holds `part`, with both in the message when it does not.
inline testing::AssertionResult holds(std::string const& text, std::string const& part) {
  if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "'" << part << "' is not in: " << text;
}

}  // namespace prdist::test
