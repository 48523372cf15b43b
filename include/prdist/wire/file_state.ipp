// SPDX-License-Identifier: Apache-2.0
// Definitions of wire/file_state.hpp.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <prdist/wire/file_state.hpp>

namespace prdist {

PRDIST_DECL std::string to_json(FileState const& state) {
  return boost::json::serialize(boost::json::object{{"files", state.list.files},
                                                    {"source", state.list.source},
                                                    {"epochs", state.list.epochs},
                                                    {"next", state.next},
                                                    {"open", boost::json::array(state.open.begin(), state.open.end())},
                                                    {"rows", state.rows}});
}

PRDIST_DECL FileState file_state_from_json(std::string_view text, std::string_view from) {
  FileState state;
  bool fits = true;
  try {
    auto const value = boost::json::parse(boost::json::string_view(text.data(), text.size()));
    auto const& object = value.as_object();
    state.list.files = object.at("files").to_number<std::uint64_t>();
    state.list.source = object.at("source").to_number<std::uint64_t>();
    state.list.epochs = object.at("epochs").to_number<std::uint32_t>();
    state.next = object.at("next").to_number<std::uint64_t>();
    for (auto const& task : object.at("open").as_array()) {
      auto const number = task.to_number<std::uint64_t>();
      fits = fits && number < state.next && (state.open.empty() || state.open.back() < number);
      state.open.push_back(number);
    }
    if (auto const* const rows = object.if_contains("rows")) state.rows = rows->to_number<std::uint64_t>();
    fits = fits && state.list.files < std::uint64_t{1} << 32 && state.next <= state.list.tasks();
  } catch (std::exception const&) {
    fits = false;
  }
  if (!fits) throw Error(Errc::wire_message, from, " does not say which files are done");
  return state;
}

}  // namespace prdist
