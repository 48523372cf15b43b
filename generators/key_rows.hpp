// SPDX-License-Identifier: Apache-2.0
// How rows of the table of keys are written, and the two halves of the table: what all jobs may say, and what is one
// target's own. Split for their size alone.
#pragma once

#include <vector>

#include "keys.hpp"

namespace prdist::gen {

/// Groups of targets that look at the same keys.
inline constexpr std::string_view in_pods = "k8s volcano paddlejob";
inline constexpr std::string_view with_images = "k8s volcano paddlejob mpi";
inline constexpr std::string_view with_commands = "k8s volcano paddlejob mpi local";

struct Topic {
  std::string_view name;
  std::vector<Key> keys;
};

[[nodiscard]] std::vector<Topic> job_keys();
[[nodiscard]] std::vector<Topic> target_keys();

inline Key row(Rule rule, std::string_view path, Member member, std::string_view about, std::string_view targets,
               std::string_view standard = {}) {
  return {.path = path, .member = member, .rule = rule, .about = about, .targets = targets, .standard = standard};
}

inline Key number(std::string_view path, Number JobSpec::*member, std::int64_t low, std::int64_t high,
                  std::string_view about, std::string_view targets, std::string_view standard = {}) {
  auto key = row(Rule::number, path, member, about, targets, standard);
  key.low = low;
  key.high = high;
  return key;
}

inline Key choice(std::string_view path, Text JobSpec::*member, std::string_view choices, std::string_view about,
                  std::string_view targets, std::string_view standard = {}) {
  auto key = row(Rule::choice, path, member, about, targets, standard);
  key.choices = choices;
  return key;
}

/// Of `fields` a record may have any.
inline Key records(std::string_view path, Records JobSpec::*member, std::string_view fields, std::string_view about,
                   std::string_view targets) {
  auto key = row(Rule::records, path, member, about, targets);
  key.choices = fields;
  return key;
}

}  // namespace prdist::gen
