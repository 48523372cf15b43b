// SPDX-License-Identifier: Apache-2.0
// Definitions of wire/hello.hpp.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <prdist/wire/hello.hpp>

namespace prdist {

PRDIST_DECL std::string to_json(Hello const& hello) {
  boost::json::object object{{"trainer", hello.trainer},
                             {"trainers", hello.trainers},
                             {"server", hello.server},
                             {"servers", hello.servers},
                             {"release", hello.release}};
  if (hello.ports != PortLayout{}) {
    object["dense_ports"] = hello.ports.dense;
    object["sparse_ports"] = hello.ports.sparse;
    object["link"] = hello.link;
  }
  if (!hello.elastic.empty()) object["elastic"] = hello.elastic;
  return boost::json::serialize(object);
}

PRDIST_DECL Result<Hello> hello_from_json(std::string_view text) {
  auto const wrong = [](std::string_view what) { return Error(Errc::wire_message, "the peer's hello ", what); };
  boost::system::error_code error;
  auto const value = boost::json::parse(boost::json::string_view(text.data(), text.size()), error);
  auto const* const object = error ? nullptr : value.if_object();
  if (object == nullptr) return wrong("is not a JSON object");
  Hello hello;
  auto const number = [&](char const* name, std::uint32_t& out) {
    auto const* const field = object->if_contains(name);
    if (field != nullptr) out = field->to_number<std::uint32_t>(error);
    return field != nullptr && !error;
  };
  if (!number("trainer", hello.trainer) || !number("trainers", hello.trainers) || !number("server", hello.server) ||
      !number("servers", hello.servers)) {
    return wrong("does not say who it is");
  }
  auto const* const release = object->if_contains("release");
  if (release == nullptr || !release->is_string()) return wrong("has no release");
  hello.release.assign(release->get_string().data(), release->get_string().size());
  if (auto const* const elastic = object->if_contains("elastic")) {
    if (!elastic->is_string()) return wrong("has a range that is no text");
    hello.elastic.assign(elastic->get_string().data(), elastic->get_string().size());
  }
  if (!object->contains("link")) return hello;
  constexpr std::uint32_t most_ports = 65535;
  auto& ports = hello.ports;
  if (!number("dense_ports", ports.dense) || !number("sparse_ports", ports.sparse) || !number("link", hello.link) ||
      ports.dense == 0 || ports.dense > most_ports || ports.sparse > most_ports || hello.link >= ports.total()) {
    return wrong("does not say which port it is for");
  }
  return hello;
}

}  // namespace prdist
