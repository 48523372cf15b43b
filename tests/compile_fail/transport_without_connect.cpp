// expect: constraint
// expect-gcc: the required expression .choice\.connect\(endpoint, sink, timeout\). is invalid
// expect-clang: 'Pigeon' does not satisfy 'can_connect'
#include <memory>
#include <string_view>

#include <prdist/concepts/transport.hpp>

struct Pigeon {
  static constexpr std::string_view name = "pigeon";
  prdist::Result<std::unique_ptr<prdist::Listener>> listen(prdist::ListenOptions const&, prdist::Acceptor);
#ifdef CONTROL
  prdist::Result<std::shared_ptr<prdist::Connection>> connect(prdist::Endpoint const&,
                                                              std::shared_ptr<prdist::FrameSink>, prdist::Duration);
#endif
};

using Chosen = prdist::Transport<Pigeon>::choice;
