// SPDX-License-Identifier: Apache-2.0
#include "etcd_store.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/system/error_code.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string_view>
#include <utility>

#include <prdist/core/text.hpp>
#include <prdist/launch/printable.hpp>

#include "base64.hpp"

namespace prrun {

using prdist::concat;
using prdist::Errc;
using prdist::Error;
using prdist::Lease;
using prdist::Result;
using prdist::StoreEntry;
namespace json = boost::json;

namespace {

/// The first key behind all that begin with `prefix`, which does not end with the last byte there is.
std::string behind(std::string prefix) {
  prefix.back() = static_cast<char>(static_cast<unsigned char>(prefix.back()) + 1);
  return prefix;
}

/// The gateway writes 64-bit numbers as text and leaves out what is 0, false or empty. @throws std::exception
std::uint64_t number_at(json::object const& object, std::string_view name) {
  auto const* const value = object.if_contains(name);
  if (value == nullptr) return 0;
  std::uint64_t number = 0;
  if (!value->is_string()) return value->to_number<std::uint64_t>();
  if (!prdist::parse_number(std::string_view(value->as_string()), number)) throw std::invalid_argument("no number");
  return number;
}

std::string text_at(json::object const& object, std::string_view name) {
  auto const* const value = object.if_contains(name);
  if (value == nullptr) return {};
  auto text = from_base64(value->as_string());
  if (!text) throw std::invalid_argument("no base64");
  return std::move(*text);
}

/// What an answer that is no success says, in one line: the gateway's own words, or the first of another program's.
std::string told_by(std::string_view body) {
  boost::system::error_code error;
  auto const parsed = json::parse(body, error);
  if (!error && parsed.is_object()) {
    for (std::string_view const name : {"message", "error"}) {
      auto const* const text = parsed.as_object().if_contains(name);
      if (text != nullptr && text->is_string()) return prdist::printable(std::string(text->as_string()).substr(0, 300));
    }
  }
  auto const begin = std::min(body.find_first_not_of(" \t\r\n"), body.size());
  return prdist::printable(body.substr(begin, std::min(body.find_first_of("\r\n", begin) - begin, std::size_t{100})));
}

/// Without a leader, while it starts, when it has too much to do: etcd says so and mends itself, and so does a proxy in
/// front of it. Other programs' 500 and 501 stay.
bool may_pass(int status, std::string_view body) {
  if (status == 429 || status == 502 || status == 503 || status == 504) return true;
  boost::system::error_code error;
  auto const parsed = json::parse(body, error);
  return status == 500 && !error && parsed.is_object() && parsed.as_object().contains("error");
}

}  // namespace

EtcdStore::EtcdStore(prdist::Master master, std::chrono::milliseconds patience, TlsFiles files)
    : master_(std::move(master)), patience_(patience), files_(std::move(files)) {}

Error EtcdStore::not_understood(std::string const& target, std::string_view why) const {
  bool const etcd = master_.kind == prdist::Master::Kind::etcd;
  return {Errc::wire_not_prdist,
          "store: ",
          to_string(master_),
          " does not answer ",
          target,
          " as ",
          etcd ? "etcd v3" : "the store of a first node",
          " does, ",
          why,
          ": check --master, another program may have that port"};
}

Result<std::string> EtcdStore::ask(std::string const& target, std::string const& body) const {
  HttpRequest request;
  request.peer = master_.endpoint;
  request.target = target;
  request.json = body;
  request.patience = patience_;
  if (master_.tls) request.tls = files_;
  auto answer = http_request(request);
  if (!answer) {
    auto const& error = answer.error();
    if (error.code() == Errc::wire_not_prdist) return not_understood(target, error.message());
    std::string_view next;
    if (master_.tls && error.code() == Errc::config_invalid) {
      next = "; they are given with --etcd_cacert, --etcd_cert and --etcd_key";
    } else if (master_.kind == prdist::Master::Kind::etcd && error.code() == Errc::transport_closed) {
      // It closes without a word when the one speaks TLS and the other does not.
      next = master_.tls ? " (one without TLS is etcd://)" : " (one with TLS is etcds://)";
    }
    return Error(error.code(), "store: ", to_string(master_), " cannot be asked: ", error.message(), next);
  }
  if (answer->status == 200) return std::move(answer->body);
  auto const said = told_by(answer->body);
  if (said.find("lease not found") != std::string::npos) {
    return Error(Errc::job_stale, "store: a lease has ended on ", to_string(master_));
  }
  if (may_pass(answer->status, answer->body)) {
    return Error(Errc::transport_failed, "store: ", to_string(master_), " answers ", answer->status, ", ", said);
  }
  return not_understood(target, concat("status ", answer->status, ", ", said));
}

Result<std::vector<StoreEntry>> EtcdStore::list(std::string const& prefix) {
  std::string const target = "/v3/kv/range";
  auto const answer =
      ask(target, json::serialize(json::object{{"key", to_base64(prefix)}, {"range_end", to_base64(behind(prefix))}}));
  if (!answer) return answer.error();
  try {
    std::vector<StoreEntry> entries;
    auto const parsed = json::parse(*answer);
    auto const& object = parsed.as_object();
    if (!object.contains("header")) throw std::invalid_argument("no header");
    if (auto const* const kvs = object.if_contains("kvs")) {
      for (auto const& each : kvs->as_array()) {
        auto const& kv = each.as_object();
        entries.push_back({text_at(kv, "key"), text_at(kv, "value"), number_at(kv, "mod_revision")});
      }
    }
    return entries;
  } catch (std::exception const& error) {
    return not_understood(target, error.what());
  }
}

Result<bool> EtcdStore::put_if(std::string const& key, std::string const& value, std::uint64_t version, Lease lease) {
  std::string const target = "/v3/kv/txn";
  auto const name = to_base64(key);
  json::object const compare{{"key", name}, {"target", "MOD"}, {"result", "EQUAL"}, {"mod_revision", concat(version)}};
  json::object const put{
      {"request_put", json::object{{"key", name}, {"value", to_base64(value)}, {"lease", concat(lease)}}}};
  auto const answer =
      ask(target, json::serialize(json::object{{"compare", json::array{compare}}, {"success", json::array{put}}}));
  if (!answer) return answer.error();
  try {
    auto const parsed = json::parse(*answer);
    auto const& object = parsed.as_object();
    if (!object.contains("header")) throw std::invalid_argument("no header");
    auto const* const succeeded = object.if_contains("succeeded");
    return succeeded != nullptr && succeeded->as_bool();
  } catch (std::exception const& error) {
    return not_understood(target, error.what());
  }
}

Result<Lease> EtcdStore::grant(std::chrono::seconds time) {
  std::string const target = "/v3/lease/grant";
  auto const answer = ask(target, json::serialize(json::object{{"TTL", concat(time.count())}}));
  if (!answer) return answer.error();
  try {
    auto const parsed = json::parse(*answer);
    if (auto const lease = number_at(parsed.as_object(), "ID"); lease != 0) return lease;
    return not_understood(target, "no ID");
  } catch (std::exception const& error) {
    return not_understood(target, error.what());
  }
}

Result<bool> EtcdStore::keep_alive(Lease lease) {
  std::string const target = "/v3/lease/keepalive";
  auto const answer = ask(target, json::serialize(json::object{{"ID", concat(lease)}}));
  if (!answer) return answer.error();
  try {
    // A stream of one answer; a lease that has ended has no time left.
    auto const parsed = json::parse(*answer);
    auto const& object = parsed.as_object();
    auto const* const result = object.if_contains("result");
    if (result == nullptr) throw std::invalid_argument("no result");
    return number_at(result->as_object(), "TTL") > 0;
  } catch (std::exception const& error) {
    return not_understood(target, error.what());
  }
}

Result<void> EtcdStore::revoke(Lease lease) {
  auto const answer = ask("/v3/lease/revoke", json::serialize(json::object{{"ID", concat(lease)}}));
  if (!answer && answer.error().code() != Errc::job_stale) return answer.error();
  return {};
}

}  // namespace prrun
