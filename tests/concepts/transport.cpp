#include <prdist/concepts/transport.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <string_view>

#include <prdist/transport/memory.hpp>

using namespace prdist;

namespace {

using Listening = Result<std::unique_ptr<Listener>>;
using Connected = Result<std::shared_ptr<Connection>>;

struct Whole {
  static constexpr std::string_view name = "whole";
  Listening listen(ListenOptions const&, Acceptor) { return Error(); }
  Connected connect(Endpoint const&, std::shared_ptr<FrameSink>, Duration) { return Error(); }
};
struct Nameless {
  Listening listen(ListenOptions const&, Acceptor) { return Error(); }
  Connected connect(Endpoint const&, std::shared_ptr<FrameSink>, Duration) { return Error(); }
};
struct WithoutListen {
  static constexpr std::string_view name = "bad";
  Connected connect(Endpoint const&, std::shared_ptr<FrameSink>, Duration) { return Error(); }
};
struct WithoutConnect {
  static constexpr std::string_view name = "bad";
  Listening listen(ListenOptions const&, Acceptor) { return Error(); }
};
/// A transport that throws instead of returning its errors would take the retries of a client with it.
struct ConnectWithoutResult {
  static constexpr std::string_view name = "bad";
  Listening listen(ListenOptions const&, Acceptor) { return Error(); }
  std::shared_ptr<Connection> connect(Endpoint const&, std::shared_ptr<FrameSink>, Duration) { return nullptr; }
};
/// Without a deadline a client could wait for ever.
struct ConnectWithoutTimeout {
  static constexpr std::string_view name = "bad";
  Listening listen(ListenOptions const&, Acceptor) { return Error(); }
  Connected connect(Endpoint const&, std::shared_ptr<FrameSink>) { return Error(); }
};

static_assert(transport_policy<Whole> && transport_policy<Memory>);
static_assert(!named<Nameless> && !transport_policy<Nameless>);
static_assert(!can_listen<WithoutListen> && can_connect<WithoutListen> && !transport_policy<WithoutListen>);
static_assert(can_listen<WithoutConnect> && !can_connect<WithoutConnect> && !transport_policy<WithoutConnect>);
static_assert(named<ConnectWithoutResult> && !can_connect<ConnectWithoutResult>);
static_assert(named<ConnectWithoutTimeout> && !can_connect<ConnectWithoutTimeout>);
static_assert(!transport_policy<ConnectWithoutResult> && !transport_policy<ConnectWithoutTimeout>);
static_assert(policy_on<Transport<Whole>, axis::transport> && !policy_on<Transport<Whole>, axis::device>);

template <class Choice>
concept wrapped = requires {
  typename Transport<Choice>;
};
static_assert(wrapped<Whole> && !wrapped<WithoutConnect> && !wrapped<WithoutListen>);

}  // namespace

TEST(TransportConcept, WrapperNamesTheChoice) {
  EXPECT_EQ(Transport<Whole>::choice::name, "whole");
}
