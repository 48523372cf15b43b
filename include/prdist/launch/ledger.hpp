// SPDX-License-Identifier: Apache-2.0
// What the guards have to know when the process that supervised a job is gone: who took part, and how each ended. It
// lies in memory that they share, so whatever kills the one leaves it to the others.
#pragma once

#include <sys/mman.h>
#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <map>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <prdist/core/text.hpp>
#include <prdist/launch/ending.hpp>
#include <prdist/launch/report.hpp>

namespace prdist {

/// Made before the fork, by the process that guards. One process writes the job at a time. Where the system has no
/// memory for it, nothing is kept and the guards report less; so it is when a job is too large for it.
class JobLedger {
 public:
  using Clock = std::chrono::steady_clock;  // the same in all processes of a machine

  JobLedger() noexcept {
    void* const memory =
        ::mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory != MAP_FAILED) page_ = new (memory) Page;
  }
  ~JobLedger() {
    if (page_ != nullptr) ::munmap(page_, room);
  }
  JobLedger(JobLedger const&) = delete;
  JobLedger& operator=(JobLedger const&) = delete;

  /// A run of the job begins; what stood here of a run before is gone.
  void begin(std::string_view job_id, std::string_view pod_name = {}, unsigned restarts = 0) {
    if (page_ == nullptr) return;
    page_->size.store(0, std::memory_order_release);
    put({"job", job_id, pod_name, concat(restarts), concat(Clock::now().time_since_epoch().count())});
    page_->open.store(true, std::memory_order_release);
  }

  /// The next member by rank.
  void joined(MemberReport const& each) {
    put({"member", concat(static_cast<int>(each.member.role)), concat(each.member.index), concat(each.pid),
         each.log.native(), each.host});
  }

  /// How the member of this rank ended; to be said before it is reaped, or the guards may see neither.
  void ended(std::size_t rank, MemberReport const& each) {
    if (!each.ending) return;
    put({"ended", concat(rank), concat(each.pid), concat(each.ending->code), concat(each.ending->signal),
         concat(static_cast<int>(each.ending->core_dumped)), concat(static_cast<int>(each.ending->out_of_memory)),
         concat(each.seconds), concat(static_cast<int>(each.stopped))});
  }

  /// The member of this rank fell and runs again as this process.
  void started_again(std::size_t rank, pid_t pid) { put({"again", concat(rank), concat(pid)}); }

  void failed_first(std::size_t rank) { put({"failed", concat(rank)}); }

  /// The job has been reported: nothing is left to be told.
  void close() noexcept {
    if (page_ != nullptr) page_->open.store(false, std::memory_order_release);
  }

  /// The job as it was when its supervising process went, or none when all has been told.
  [[nodiscard]] std::optional<JobReport> read() const {
    if (page_ == nullptr || !page_->open.load(std::memory_order_acquire)) return std::nullopt;
    auto const size = page_->size.load(std::memory_order_acquire);
    std::vector<std::string_view> words;
    for (std::string_view rest(text(), size); !rest.empty(); rest.remove_prefix(words.back().size() + 1)) {
      words.push_back(rest.substr(0, rest.find('\0')));
    }
    JobReport report;
    for (std::size_t at = 0; at < words.size();) at += take(report, words, at);
    report.outcome = Outcome::interrupted;
    return report;
  }

  /// Who supervises, and the process people see: for whoever loses the guard between them. 0 when not known.
  void supervised_by(pid_t pid) noexcept {
    if (page_ != nullptr) page_->supervisor.store(pid);
  }
  void seen_as(pid_t pid) noexcept {
    if (page_ != nullptr) page_->visible.store(pid);
  }
  [[nodiscard]] pid_t supervisor() const noexcept { return page_ == nullptr ? 0 : page_->supervisor.load(); }
  [[nodiscard]] pid_t visible() const noexcept { return page_ == nullptr ? 0 : page_->visible.load(); }

  /// A guard was killed: by this signal, or by one that nobody can tell (0). The supervisor puts it into its report.
  void lost_guard(int signal) noexcept {
    if (page_ == nullptr) return;
    page_->guard_signal.store(signal);
    page_->guard_lost.store(true);
  }
  [[nodiscard]] bool guard_is_lost() const noexcept { return page_ != nullptr && page_->guard_lost.load(); }
  [[nodiscard]] int signal_of_lost_guard() const noexcept { return page_ == nullptr ? 0 : page_->guard_signal.load(); }

 private:
  struct Page {
    std::atomic<std::size_t> size{0};
    std::atomic<bool> open{false};
    std::atomic<bool> guard_lost{false};
    std::atomic<int> guard_signal{0};
    std::atomic<pid_t> supervisor{0};
    std::atomic<pid_t> visible{0};
  };
  static_assert(std::atomic<std::size_t>::is_always_lock_free && std::atomic<pid_t>::is_always_lock_free);
  /// Taken only as far as it is written: for 1,280 members with long paths.
  static constexpr std::size_t room = std::size_t{8} << 20;

  [[nodiscard]] char* text() const noexcept { return reinterpret_cast<char*>(page_) + sizeof(Page); }

  /// Appends words, each with a zero behind it. Nobody sees half of them: the size comes last.
  void put(std::initializer_list<std::string_view> words) {
    if (page_ == nullptr) return;
    auto const size = page_->size.load(std::memory_order_relaxed);
    std::string record;
    for (auto const word : words) record.append(word.substr(0, word.find('\0'))).push_back('\0');
    if (record.size() > room - sizeof(Page) - size) return;
    std::memcpy(text() + size, record.data(), record.size());
    page_->size.store(size + record.size(), std::memory_order_release);
  }

  template <class Number>
  [[nodiscard]] static Number number(std::string_view word) {
    Number value{};
    (void)parse_number(word, value);
    return value;
  }

  /// Reads one record and returns how many words it has.
  [[nodiscard]] static std::size_t take(JobReport& report, std::vector<std::string_view> const& words, std::size_t at) {
    auto const kind = words[at];
    auto const word = [&](std::size_t i) { return at + i < words.size() ? words[at + i] : std::string_view(); };
    if (kind == "job") {
      report.job_id = word(1);
      report.pod_name = word(2);
      report.restarts = number<unsigned>(word(3));
      Clock::time_point const start{Clock::duration(number<Clock::rep>(word(4)))};
      report.seconds = std::chrono::duration<double>(Clock::now() - start).count();
      return 5;
    }
    if (kind == "member") {
      MemberReport each;
      each.member = {static_cast<JobRole>(number<int>(word(1))), number<std::size_t>(word(2))};
      each.pid = number<pid_t>(word(3));
      each.log = word(4);
      each.host = word(5);
      report.members.push_back(std::move(each));
      return 6;
    }
    auto const rank = number<std::size_t>(word(1));
    bool const known = rank < report.members.size();
    if (kind == "failed") {
      if (known) report.first_failure = rank;
      return 2;
    }
    if (kind == "again") {
      if (!known) return 3;
      auto& each = report.members[rank];
      report.fallen.push_back(each);
      each.pid = number<pid_t>(word(2));
      each.ending.reset();
      return 3;
    }
    if (known) {
      auto& each = report.members[rank];
      each.pid = number<pid_t>(word(2));
      each.ending = Ending{number<int>(word(3)), number<int>(word(4)), word(5) == "1", word(6) == "1"};
      each.seconds = number<double>(word(7));
      each.stopped = word(8) == "1";
    }
    return 9;
  }

  Page* page_ = nullptr;
};

/// Fills in how members ended that only the guard has seen: `reaped` by process id.
inline void complete(JobReport& report, std::map<pid_t, Ending> const& reaped) {
  for (auto& each : report.members) {
    if (each.ending) continue;
    each.seconds = report.seconds;
    if (!each.host.empty()) continue;  // numbers of another machine
    auto const found = reaped.find(each.pid);
    if (found == reaped.end()) continue;
    each.ending = found->second;
    each.stopped = true;
  }
}

}  // namespace prdist
