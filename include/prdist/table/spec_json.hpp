// SPDX-License-Identifier: Apache-2.0
// Declarations as JSON: what a trainer sends to the servers, and what /v1/tables shows to people.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include <prdist/core/decl.hpp>
#include <prdist/core/error.hpp>
#include <prdist/table/spec.hpp>

namespace prdist {

using AnySpec = std::variant<SparseSpec, DenseSpec>;

[[nodiscard]] inline std::string const& name_of(AnySpec const& spec) {
  return std::visit([](auto const& it) -> std::string const& { return it.name; }, spec);
}

[[nodiscard]] std::string to_json(AnySpec const& spec);

/// Reads and checks a declaration: every error names the table and the field.
[[nodiscard]] Result<AnySpec> spec_from_json(std::string_view text);

/// What is wrong with a declaration by itself (an empty name, a dimension out of bounds, a rate that is no number).
[[nodiscard]] Result<void> check(AnySpec const& spec);

/// How two declarations of one name differ: "dim is 8 here and 16 on the server", or empty when they agree.
[[nodiscard]] std::string difference(AnySpec const& here, AnySpec const& there);

}  // namespace prdist

#if !defined(PRDIST_SEPARATE_COMPILATION)
#include <prdist/table/spec_json.ipp>
#endif
