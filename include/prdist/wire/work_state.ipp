// SPDX-License-Identifier: Apache-2.0
// Definitions of wire/work_state.hpp.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <prdist/wire/work_state.hpp>

namespace prdist {

PRDIST_DECL std::string to_json(WorkState const& state) {
  boost::json::object object{{"what", state.what}, {"done", state.done}, {"rows", state.rows}};
  if (state.waits_for_disk) object["waits_for_disk"] = true;
  if (!state.result.empty()) object["result"] = state.result;
  if (state.failed) {
    object["error"] = {{"code", static_cast<std::uint64_t>(state.failed->code())}, {"text", state.failed->message()}};
  }
  return boost::json::serialize(object);
}

PRDIST_DECL WorkState work_state_from_json(std::string_view text, std::string_view from) {
  WorkState state;
  try {
    boost::json::parse_options options;
    options.allow_invalid_utf8 = true;  // names of files are bytes
    auto const value = boost::json::parse(boost::json::string_view(text.data(), text.size()), {}, options);
    auto const& object = value.as_object();
    state.what = object.at("what").as_string();
    state.done = object.at("done").as_bool();
    state.rows = object.at("rows").to_number<std::uint64_t>();
    if (auto const* const waits = object.if_contains("waits_for_disk")) state.waits_for_disk = waits->as_bool();
    if (auto const* const result = object.if_contains("result")) state.result = result->as_string();
    if (auto const* const error = object.if_contains("error")) {
      state.failed = Error(errc_of(error->at("code").to_number<std::uint64_t>()), error->at("text").as_string());
    }
  } catch (std::exception const&) {
    throw Error(Errc::wire_message, from, " did not say how far its work is");
  }
  return state;
}

}  // namespace prdist
