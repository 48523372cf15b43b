// SPDX-License-Identifier: Apache-2.0
// Definitions of trainer/client.hpp: what trainers do together, beside pulling and pushing.
#pragma once

#include <prdist/trainer/client.hpp>
#include <prdist/trainer/link.ipp>

namespace prdist {

PRDIST_DECL std::vector<std::byte> Client::ask(std::size_t server, std::string what, Header header,
                                               std::vector<ConstBytes> payload) {
  auto const operation = begin(std::move(what));
  auto const answer = std::make_shared<std::vector<std::byte>>();
  operation->add(static_cast<std::uint32_t>(server));
  send(server, operation, header, std::move(payload), {}, {}, answer);
  operation->seal();
  wait(*operation);
  return std::move(*answer);
}

PRDIST_DECL void Client::barrier(std::string_view name) {
  (void)meet(name, "");
}

PRDIST_DECL Texts Client::meet(std::string_view name, std::string_view text, bool training_only) {
  Header header;
  header.kind = Kind::meet;
  header.flags = training_only ? flag_training : 0;
  std::byte const end{0};
  return decode_texts(ask(0, concat("the meeting '", name, "'"), header,
                          {std::as_bytes(std::span(name)), {&end, 1}, std::as_bytes(std::span(text))}))
      .value();
}

PRDIST_DECL void Client::ask_cut(std::uint64_t step, bool stop) {
  Header header;
  header.kind = Kind::ask_cut;
  header.offset = step;
  header.flags = stop ? flag_stop : 0;
  (void)ask(0, "the wish for a checkpoint", header, {});
}

PRDIST_DECL void Client::retire() {
  call_all("the end of the steps", Kind::retire, {});
}

PRDIST_DECL void Client::leave() {
  if (left_) return;
  call_all("the goodbye", Kind::leave, {});
  left_ = true;
  end_life();
  for (auto const& link : links_) link->close(Error(Errc::job_state, "this worker has left the job"));
}

}  // namespace prdist
