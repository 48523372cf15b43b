// SPDX-License-Identifier: Apache-2.0
// Definitions of trainer/client.hpp: what a client says to the servers beside pulls and pushes.
#pragma once

#include <algorithm>

#include <prdist/trainer/client.hpp>
#include <prdist/trainer/link.ipp>

namespace prdist {

PRDIST_DECL Changes Client::changed(SparseRef const& table) {
  auto const operation = begin(concat("a look for changed rows of table '", table.name, "'"));
  auto& heard = heard_[table.id];
  heard.resize(links_.size(), 0);
  std::vector<std::shared_ptr<std::vector<std::byte>>> payloads;
  // Shared, so that an answer that comes while another server fails has somewhere to go.
  auto const answers = std::make_shared<std::vector<Header>>(links_.size());
  for (std::size_t s = 0; s < links_.size(); ++s) operation->add(static_cast<std::uint32_t>(s));
  for (std::size_t s = 0; s < links_.size(); ++s) {
    payloads.push_back(std::make_shared<std::vector<std::byte>>());
    Header header;
    header.kind = Kind::pull_changed;
    header.table = table.id;
    header.offset = heard[s];
    send(
        s, operation, header, {}, {}, [answers, s](Header const& it) { (*answers)[s] = it; }, payloads[s]);
  }
  operation->seal();
  wait(*operation);
  Changes changes;
  for (std::size_t s = 0; s < links_.size(); ++s) {
    heard[s] = (*answers)[s].offset;
    changes.forgotten = changes.forgotten || ((*answers)[s].flags & flag_forgotten) != 0;
    auto const count = changes.keys.size();
    changes.keys.resize(count + payloads[s]->size() / sizeof(Key));
    auto const room = std::as_writable_bytes(std::span(changes.keys).subspan(count));
    std::copy_n(payloads[s]->begin(), room.size(), room.begin());
  }
  return changes;
}

PRDIST_DECL Header Client::ask_first(std::string what, Header const& header) {
  auto const operation = begin(std::move(what));
  operation->add(0);
  auto const answer = std::make_shared<Header>();
  send(0, operation, header, {}, {}, [answer](Header const& it) { *answer = it; });
  operation->seal();
  wait(*operation);
  return *answer;
}

PRDIST_DECL bool Client::tick(std::uint32_t lane, std::uint32_t lanes, std::uint64_t steps, std::uint64_t ahead) {
  Header header;
  header.kind = Kind::clock;
  header.offset = lane;
  header.weight = lanes;
  header.count = steps;
  header.table = static_cast<std::uint32_t>(std::min<std::uint64_t>(ahead, 0xffffffff));
  return (ask_first(concat("the clock of step ", steps), header).flags & flag_again) == 0;
}

PRDIST_DECL void Client::leave_clock(std::uint32_t lane, std::uint32_t lanes) {
  Header header;
  header.kind = Kind::clock;
  header.flags = flag_leave;
  header.offset = lane;
  header.weight = lanes;
  (void)ask_first("the end of a thread's clock", header);
}

PRDIST_DECL std::shared_ptr<Histogram> Client::measured(TableId table) const {
  std::lock_guard const lock(measured_mutex_);
  auto& histogram = measured_[table];
  if (!histogram) histogram = std::make_shared<Histogram>();
  return histogram;
}

PRDIST_DECL std::shared_ptr<Histogram const> Client::staleness(TableId table) const {
  return measured(table);
}

PRDIST_DECL void Client::ping() {
  // A sign of life while the trainer computes; a server that does not answer is noticed by the next call's deadline.
  runtime_.after(options_.ping_every, [this, life = life_] {
    std::lock_guard const lock(life->mutex);
    if (life->ended) return;
    auto const operation = std::make_shared<detail::Operation>("a ping", runtime_.now() + options_.deadline);
    for (std::size_t i = 0; i < links_.size(); ++i) operation->add(static_cast<std::uint32_t>(i));
    for (std::size_t i = 0; i < links_.size(); ++i) send(i, operation, Header{}, {});
    operation->seal();
    ping();
  });
}

}  // namespace prdist
