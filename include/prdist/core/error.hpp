// SPDX-License-Identifier: Apache-2.0
// The one error type. Inside the library it is returned as a value (Result); the verbs of Fleet throw it.
// Its text can be searched: `prdist[area.cause] who, what, where: next step`.
#pragma once

#include <boost/assert/source_location.hpp>
#include <boost/system/result.hpp>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>

#include <prdist/core/text.hpp>

namespace prdist {

enum class Errc : std::uint16_t {
  config_missing,
  config_invalid,
  config_contradiction,
  transport_refused,
  transport_unresolved,
  transport_no_answer,
  transport_closed,
  transport_in_use,
  transport_failed,
  wire_not_prdist,
  wire_version,
  wire_checksum,
  wire_too_large,
  wire_message,
  table_unknown,
  table_mismatch,
  table_shape,
  table_memory,
  job_peer_lost,
  job_deadline,
  job_placement,
  job_state,
  job_stale,
  job_stopped,
  data_line,
  data_file,
  data_position,
  checkpoint_file,
  checkpoint_damaged,
  checkpoint_version,
  checkpoint_missing,
  internal,
  // They travel as numbers: a new one comes last, and a peer that does not know it takes it for `internal`.
  job_diverged,
};

/// The last code: a loop over all of them ends here.
inline constexpr Errc last_errc = Errc::job_diverged;

/// `area.cause`, the searchable part of the text.
[[nodiscard]] constexpr std::string_view name_of(Errc code) noexcept {
  switch (code) {
    case Errc::config_missing: return "config.missing";
    case Errc::config_invalid: return "config.invalid";
    case Errc::config_contradiction: return "config.contradiction";
    case Errc::transport_refused: return "transport.refused";
    case Errc::transport_unresolved: return "transport.unresolved";
    case Errc::transport_no_answer: return "transport.no_answer";
    case Errc::transport_closed: return "transport.closed";
    case Errc::transport_in_use: return "transport.in_use";
    case Errc::transport_failed: return "transport.failed";
    case Errc::wire_not_prdist: return "wire.not_prdist";
    case Errc::wire_version: return "wire.version";
    case Errc::wire_checksum: return "wire.checksum";
    case Errc::wire_too_large: return "wire.too_large";
    case Errc::wire_message: return "wire.message";
    case Errc::table_unknown: return "table.unknown";
    case Errc::table_mismatch: return "table.mismatch";
    case Errc::table_shape: return "table.shape";
    case Errc::table_memory: return "table.memory";
    case Errc::job_peer_lost: return "job.peer_lost";
    case Errc::job_deadline: return "job.deadline";
    case Errc::job_placement: return "job.placement";
    case Errc::job_state: return "job.state";
    case Errc::job_stale: return "job.stale";
    case Errc::job_stopped: return "job.stopped";
    case Errc::job_diverged: return "job.diverged";
    case Errc::data_line: return "data.line";
    case Errc::data_file: return "data.file";
    case Errc::data_position: return "data.position";
    case Errc::checkpoint_file: return "checkpoint.file";
    case Errc::checkpoint_damaged: return "checkpoint.damaged";
    case Errc::checkpoint_version: return "checkpoint.version";
    case Errc::checkpoint_missing: return "checkpoint.missing";
    case Errc::internal: return "internal.error";
  }
  return "internal.error";
}

/// The code that another process meant by this number; `internal` for one of a newer version.
[[nodiscard]] constexpr Errc errc_of(std::uint64_t number) noexcept {
  return number <= static_cast<std::uint64_t>(last_errc) ? static_cast<Errc>(number) : Errc::internal;
}

/// The process exit code that the launch contract gives to a failure of this kind: 78 for what a restart cannot
/// mend (configuration, input, a training that has diverged), 75 for what it can (a lost peer, a passed deadline), 143
/// for being asked to stop.
[[nodiscard]] constexpr int exit_code(Errc code) noexcept {
  switch (code) {
    case Errc::transport_refused:
    case Errc::transport_unresolved:
    case Errc::transport_no_answer:
    case Errc::transport_closed:
    case Errc::transport_failed:
    case Errc::wire_checksum:
    case Errc::job_peer_lost:
    case Errc::job_deadline: return 75;
    case Errc::table_memory:
    case Errc::internal: return 70;
    case Errc::job_stopped: return 143;
    default: return 78;
  }
}

/// Copies share one text and cannot fail. (std::runtime_error would do the same, but counts its owners inside the
/// standard library, where ThreadSanitizer cannot see that it is done right.)
class Error : public std::exception {
 public:
  /// What boost::system::result shows when asked for the error of a success.
  Error() : Error(Errc::internal, "there is no error") {}

  /// `text` says who, what, where, and behind a colon or a full stop the next step.
  Error(Errc code, std::string_view text)
      : text_(std::make_shared<std::string const>(concat("prdist[", name_of(code), "] ", text))), code_(code) {}

  /// Parts are joined by concat().
  template <class First, class Second, class... More>
  Error(Errc code, First const& first, Second const& second, More const&... more)
      : Error(code, std::string_view(concat(first, second, more...))) {}

  // No move: an error that was moved from would have no text.
  Error(Error const&) = default;
  Error& operator=(Error const&) = default;

  [[nodiscard]] char const* what() const noexcept override { return text_->c_str(); }
  [[nodiscard]] Errc code() const noexcept { return code_; }

  /// The text without the `prdist[area.cause] ` in front, for sending on under the same code.
  [[nodiscard]] std::string_view message() const noexcept {
    return std::string_view(what()).substr(name_of(code_).size() + 9);
  }

 private:
  std::shared_ptr<std::string const> text_;
  Errc code_;
};

/// What boost::system::result calls when value() finds an error.
[[noreturn]] inline void throw_exception_from_error(Error const& error, boost::source_location const&) {
  throw error;
}

template <class Value>
using Result = boost::system::result<Value, Error>;

}  // namespace prdist
