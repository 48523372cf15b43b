// SPDX-License-Identifier: Apache-2.0
// Definitions of transport/beast.hpp.
#pragma once

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <chrono>
#include <future>
#include <optional>

#include <prdist/transport/beast.hpp>
#include <prdist/transport/sockets.ipp>
#include <prdist/version.hpp>

namespace prdist {

namespace detail {

namespace beast = boost::beast;
namespace http = boost::beast::http;

inline constexpr char const* upgrade_name = "prdist/1";
inline constexpr std::uint32_t most_http_header = 8 * 1024;
inline constexpr auto http_patience = std::chrono::seconds(10);

/// An accepted connection as long as it speaks HTTP.
class HttpSession final : public Endable, public std::enable_shared_from_this<HttpSession> {
 public:
  /// Called with the socket when the peer has been upgraded.
  using Upgraded = std::function<void(asio::io_context&, tcp::socket)>;

  HttpSession(std::shared_ptr<IoCore> core, asio::io_context& context, tcp::socket socket, Pages pages,
              Upgraded upgraded)
      : core_(std::move(core)),
        context_(context),
        stream_(std::move(socket)),
        pages_(std::move(pages)),
        upgraded_(std::move(upgraded)) {}

  void start() {
    number_ = core_->remember(context_, weak_from_this());
    error_code ignored;
    stream_.socket().set_option(tcp::no_delay(true), ignored);
    read();
  }

  void close() override {
    core_->run_on(context_, [this] { end(); });
  }

  void end() override {
    core_->forget(number_);
    upgraded_ = nullptr;
    stream_.close();
  }

 private:
  void read() {
    parser_.emplace();
    parser_->header_limit(most_http_header);
    parser_->body_limit(0);
    stream_.expires_after(http_patience);
    http::async_read(stream_, buffer_, *parser_,
                     [self = shared_from_this()](error_code error, std::size_t) { self->on_request(error); });
  }

  void on_request(error_code error) {
    if (!upgraded_) return;
    if (error == http::error::end_of_stream || error == beast::error::timeout) return end();
    if (error) {
      // Whatever this is, it is no HTTP: say so in the only language both might share.
      return answer(http::status::bad_request, "text/plain",
                    "this port speaks HTTP and prdist frames over an upgrade\n", false);
    }
    auto const& request = parser_->get();
    if (beast::iequals(request[http::field::upgrade], upgrade_name)) return upgrade();
    auto const verb = request.method();
    if (verb != http::verb::get && verb != http::verb::head) {
      return answer(http::status::method_not_allowed, "application/json", R"({"error":"GET and HEAD only"})", false);
    }
    auto const target = std::string_view(request.target().data(), request.target().size());
    auto const path = std::string(target.substr(0, target.find('?')));
    auto const reply = [self = shared_from_this(), keep = request.keep_alive()](Page page) {
      asio::post(self->context_, [self, keep, page = std::move(page)]() mutable {
        self->answer(static_cast<http::status>(page.status), "application/json", std::move(page.json) + "\n", keep);
      });
    };
    if (!pages_) return reply({404, R"({"error":"there are no pages here"})"});
    pages_(path, reply);
  }

  void answer(http::status status, char const* type, std::string body, bool keep_alive) {
    if (!upgraded_) return;
    bool const head = parser_ && parser_->is_header_done() && parser_->get().method() == http::verb::head;
    auto const response = std::make_shared<http::response<http::string_body>>(status, 11);
    response->set(http::field::server, concat("prdist/", version));
    response->set(http::field::content_type, type);
    response->set(http::field::cache_control, "no-store");
    response->keep_alive(keep_alive);
    response->body() = std::move(body);
    response->prepare_payload();
    if (head) response->body().clear();
    stream_.expires_after(http_patience);
    auto const serializer = std::make_shared<http::response_serializer<http::string_body>>(*response);
    if (head) serializer->split(true);
    auto const written = [self = shared_from_this(), response, serializer, keep_alive](error_code error, std::size_t) {
      if (error || !keep_alive) return self->end();
      self->read();
    };
    head ? http::async_write_header(stream_, *serializer, written) : http::async_write(stream_, *serializer, written);
  }

  void upgrade() {
    auto const response = std::make_shared<http::response<http::empty_body>>(http::status::switching_protocols, 11);
    response->set(http::field::connection, "Upgrade");
    response->set(http::field::upgrade, upgrade_name);
    response->set(http::field::server, concat("prdist/", version));
    // The peer waits for the 101 before it sends frames; if it did not, they are in our buffer and would be lost.
    if (buffer_.size() != 0) return end();
    http::async_write(stream_, *response, [self = shared_from_this(), response](error_code error, std::size_t) {
      if (!self->upgraded_) return;
      if (error) return self->end();
      self->stream_.expires_never();
      self->core_->forget(self->number_);
      auto const upgraded = std::exchange(self->upgraded_, nullptr);
      upgraded(self->context_, self->stream_.release_socket());
    });
  }

  std::shared_ptr<IoCore> core_;
  asio::io_context& context_;
  beast::tcp_stream stream_;
  Pages pages_;
  Upgraded upgraded_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::empty_body>> parser_;
  std::uint64_t number_ = 0;
};

/// A connected socket after the upgrade; blocks at most `timeout`.
inline Result<tcp::socket> upgrade_socket(asio::io_context& context, tcp::socket connected, Endpoint const& endpoint,
                                          Duration timeout) {
  struct Attempt {
    Attempt(tcp::socket socket) : stream(std::move(socket)) {}
    beast::tcp_stream stream;
    http::request<http::empty_body> request;
    beast::flat_buffer buffer;
    http::response_parser<http::empty_body> parser;
    std::promise<error_code> done;
  };
  auto const attempt = std::make_shared<Attempt>(std::move(connected));
  attempt->request = {http::verb::get, "/v1/frames", 11};
  attempt->request.set(http::field::host, to_string(endpoint));
  attempt->request.set(http::field::connection, "Upgrade");
  attempt->request.set(http::field::upgrade, upgrade_name);
  attempt->parser.header_limit(most_http_header);
  asio::post(context, [attempt, timeout] {
    attempt->stream.expires_after(timeout);
    http::async_write(attempt->stream, attempt->request, [attempt](error_code error, std::size_t) {
      if (error) return attempt->done.set_value(error);
      http::async_read_header(attempt->stream, attempt->buffer, attempt->parser,
                              [attempt](error_code failed, std::size_t) {
                                attempt->stream.expires_never();
                                attempt->done.set_value(failed);
                              });
    });
  });
  auto const error = attempt->done.get_future().get();
  auto const wrong = [&](auto const&... what) {
    return Error(Errc::transport_failed, concat(to_string(endpoint), ": ", what...));
  };
  if (error == beast::error::timeout) {
    return Error(Errc::transport_no_answer, to_string(endpoint), ": connected, but no answer within ", seconds(timeout),
                 " s");
  }
  if (error) return wrong("the upgrade failed: ", error.message(), ": does the server use Transport<Beast> too?");
  auto const& response = attempt->parser.get();
  if (response.result() != http::status::switching_protocols ||
      !beast::iequals(response[http::field::upgrade], upgrade_name) || attempt->buffer.size() != 0) {
    return wrong("it answered ", response.result_int(), " to the upgrade: is another program listening there?");
  }
  return attempt->stream.release_socket();
}

}  // namespace detail

PRDIST_DECL Beast::Beast(SocketOptions const& options) : pool_(std::make_shared<detail::IoPool>(options)) {}

PRDIST_DECL Result<std::unique_ptr<Listener>> Beast::listen(ListenOptions const& options, Acceptor acceptor) {
  return detail::SocketListener::start(
      pool_, options,
      [core = pool_->core(), limits = pool_->options(), pages = options.pages, acceptor = std::move(acceptor)](
          std::shared_ptr<detail::AcceptedList> const& list, boost::asio::io_context& context,
          detail::tcp::socket socket) {
        auto const session = std::make_shared<detail::HttpSession>(
            core, context, std::move(socket), pages,
            [core, limits, acceptor, list](boost::asio::io_context& on, detail::tcp::socket upgraded) {
              auto const stream =
                  std::make_shared<detail::FrameStream>(core, on, std::move(upgraded), limits, detail::Side::serves);
              if (!list->add(stream)) return;
              stream->start(acceptor(stream));
            });
        if (!list->add(session)) return;
        boost::asio::post(context, [session] { session->start(); });
      });
}

PRDIST_DECL Result<std::shared_ptr<Connection>> Beast::connect(Endpoint const& endpoint,
                                                               std::shared_ptr<FrameSink> sink, Duration timeout) {
  auto& context = pool_->core()->next();
  auto socket = detail::connect_socket(context, endpoint, timeout);
  if (!socket) return socket.error();
  auto upgraded = detail::upgrade_socket(context, std::move(*socket), endpoint, timeout);
  if (!upgraded) return upgraded.error();
  auto stream = std::make_shared<detail::FrameStream>(pool_->core(), context, std::move(*upgraded), pool_->options(),
                                                      detail::Side::asks);
  boost::asio::post(context, [stream, sink = std::move(sink)] { stream->start(sink); });
  return std::shared_ptr<Connection>(std::move(stream));
}

}  // namespace prdist
