#include "profile/measured_costs.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "base/durable_file.h"
#include "base/error.h"
#include "base/hash.h"
#include "profile/rates.h"

namespace troika {
namespace {

namespace fs = std::filesystem;

/// Counts the ways in which kernels have been timed. Raise it whenever times change their meaning:
/// rows that were timed in another way are measured again.
constexpr int kTimingMethod = 2;

/// Rows that say how they were timed.
KernelRows with_timings(const KernelRows& rows) {
  KernelRows known;
  known.memory_rates = rows.memory_rates;
  for (const KernelRows::Row& row : rows.rows())
    if (std::ranges::all_of(row.candidates, [](auto& one) { return one.timing.has_value(); }))
      known.insert(row.key, row.candidates);
  return known;
}

std::string utc_now() {
  return fmt::format(
      "{:%FT%TZ}",
      fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
}

/// Longest wait for another process that writes the file. One write takes milliseconds; a process
/// that holds the lock longer is stopped or hostile.
constexpr std::chrono::milliseconds kLongestLockWait{1000}, kLockRetry{20};

/// An exclusive lock among processes, held for the life of the object if it was acquired in time.
class FileLock {
 public:
  explicit FileLock(const std::string& path)
      // A link of that name must not be followed, and a pipe must not block.
      : file_(open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600)) {
    auto end = std::chrono::steady_clock::now() + kLongestLockWait;
    error_ = file_ < 0 ? errno : 0;
    while (file_ >= 0 && !is_held_) {
      is_held_ = flock(file_, LOCK_EX | LOCK_NB) == 0;
      error_ = is_held_ ? 0 : errno;
      if (error_ != EWOULDBLOCK || std::chrono::steady_clock::now() >= end) return;
      std::this_thread::sleep_for(kLockRetry);
    }
  }
  ~FileLock() {
    if (file_ >= 0) close(file_);
  }
  FileLock(const FileLock&) = delete;

  bool is_held() const { return is_held_; }
  /// Why it is not held.
  std::string reason() const {
    return error_ == EWOULDBLOCK ? "another process holds it" : std::strerror(error_);
  }

 private:
  int file_;
  int error_ = 0;
  bool is_held_ = false;
};

/// Returns why the folder is only read; empty for a folder of this user or one that does not exist
/// yet. A folder that another user can change is not written, because a name in it may be a link to
/// any file.
std::string why_read_only(const fs::path& folder) {
  struct stat status {};
  if (stat(folder.c_str(), &status) != 0 || status.st_uid == geteuid()) return {};
  return fmt::format("{} belongs to another user ({}) and is only read", folder.string(),
                     status.st_uid);
}

}  // namespace

MeasuredCosts::MeasuredCosts(Device& device, const Backend& backend, Options options)
    : device_(device),
      backend_(backend),
      make_neighbour_(std::move(options.make_neighbour)),
      occupancy_(options.occupancy),
      memory_(options.memory),
      check_(device, backend),
      made_by_(std::move(options.made_by)),
      provenance_(fmt::format("{}{}{}, timing method {}", device.kind(),
                              made_by_.empty() ? "" : " by ", made_by_, kTimingMethod)),
      measures_anew_(options.measures_anew) {
  given_ = reoccupied(options.given.of(device.kind()), occupancy_);
  if (!options.folder.empty())
    file_ = options.folder / fmt::format("kernels-{:016x}.json", hash_text(provenance_));
  read_rows();
}

void MeasuredCosts::meet_step(Bytes of_device) {
  Bytes touched = touched_in_cache(of_device, occupancy_.at_once);
  if (touched == touched_) return;
  touched_ = touched;
  read_rows();
}

/// Those of an earlier start that were timed in the same way.
void MeasuredCosts::read_rows() {
  rows_of_ = provenance_;
  if (occupancy_.at_once > 1) rows_of_ += fmt::format(", {} at once", occupancy_.at_once);
  if (touched_ > Bytes{}) rows_of_ += fmt::format(", {} in the cache", to_string(touched_));
  timer_.emplace(device_, backend_, beside(occupancy_.at_once));
  kept_ = {};
  if (file_.empty() || measures_anew_) return;
  KernelTable costs = read_costs(file_).value_or(KernelTable{});
  kept_ = with_timings(costs.of(rows_of_));
  check_.take_known(costs.of(provenance_).checks());
}

KernelTimer::Options MeasuredCosts::beside(std::int32_t at_once) const {
  return {.neighbours = at_once - 1,
          .make_neighbour = make_neighbour_,
          .memory = memory_,
          .touched = touched_};
}

std::vector<Candidate> MeasuredCosts::fitting(const KernelKey& key,
                                              std::vector<Candidate> candidates) const {
  std::vector<Candidate> kept = candidates;
  std::erase_if(kept, [&](const Candidate& candidate) { return !fits(key, candidate); });
  return kept.empty() ? candidates : kept;
}

bool MeasuredCosts::fits(const KernelKey& key, const Candidate& candidate) const {
  return memory_ == Bytes{} || memory_to_measure(key, candidate) <= memory_;
}

std::vector<Candidate> MeasuredCosts::answer(const KernelKey& key) {
  std::vector<Candidate> offered = fitting(key, backend_.candidates(key));
  // Nothing fits, so `fitting` has kept all: neither check nor timing is tried.
  if (!offered.empty() && !fits(key, offered.front())) return offered;
  std::vector<Candidate> candidates = check_.keep_right(key, offered);
  if (candidates.size() < offered.size())
    for (LeftOutKernel& kernel : check_.left_out(key, offered))
      left_out_.push_back(std::move(kernel));
  if (take_times(given_, key, candidates)) return candidates;
  if (!take_times(kept_, key, candidates)) measure(key, candidates);
  reoccupy(key, candidates, kept_.memory_rates, occupancy_);
  return candidates;
}

void MeasuredCosts::measure(const KernelKey& key, std::vector<Candidate>& candidates) {
  auto start = std::chrono::steady_clock::now();
  timer_->measure(key, candidates);
  const std::string date = utc_now();
  for (Candidate& candidate : candidates) candidate.timing->date = date;
  measuring_seconds_ +=
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  kept_.insert(key, candidates);
  new_rows_[rows_of_].insert(key, candidates);
  measured_ += std::ssize(candidates);
}

/// For one device, then twice as many, up to those that compute at once here. The rates serve plans
/// with other numbers of devices, so they are of no use without a file.
void MeasuredCosts::measure_memory_rates() {
  MemoryRates& rates = kept_.memory_rates;
  const std::int32_t most = occupancy_.at_once;
  if (most == 1 || file_.empty() || rates.contains(most)) return;
  auto start = std::chrono::steady_clock::now();
  for (std::int32_t devices = 1; devices < 2 * most; devices *= 2) {
    KernelTimer::Options options = beside(std::min(devices, most));
    options.touched = {};
    KernelTimer timer(device_, backend_, options);
    rates[std::min(devices, most)] = measure_memory_rate(timer, backend_, memory_);
  }
  measuring_seconds_ +=
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void MeasuredCosts::finish() {
  timer_->release();
  why_not_kept_.clear();
  if (new_rows_.empty() && check_.checked() == checks_kept_) return;
  measure_memory_rates();
  try {
    write_rows();
  } catch (const Error& error) {  // the next start measures again
    why_not_kept_ = error.what();
  }
  new_rows_ = {};
  checks_kept_ = check_.checked();
}

std::vector<LeftOutKernel> MeasuredCosts::left_out(const KernelKey& key) const {
  return check_.left_out(key, backend_.candidates(key));
}

void MeasuredCosts::write_rows() {
  if (file_.empty()) {
    why_not_kept_ = "there is no folder for them";
    return;
  }
  why_not_kept_ = why_read_only(file_.parent_path());
  if (!why_not_kept_.empty()) return;
  make_folder(file_.parent_path());
  FileLock lock(file_.string() + ".lock");
  if (!lock.is_held()) {
    why_not_kept_ = fmt::format("{}.lock cannot be locked: {}", file_.string(), lock.reason());
    return;
  }
  // Read again under the lock, because another process may have added rows. The table inserted last
  // wins: rows of the file, unless everything was to be measured anew.
  KernelTable costs = read_costs(file_).value_or(KernelTable{});
  KernelChecks checks = costs.of(provenance_).checks();
  for (auto& [of, added] : new_rows_) {
    KernelRows there = with_timings(costs.of(of));
    KernelRows& first = costs.of(of);
    first = measures_anew_ ? std::move(there) : std::move(added);
    const KernelRows& last = measures_anew_ ? added : there;
    for (const auto& [key, candidates] : last.rows()) first.insert(key, candidates);
    first.made_by = made_by_;
    first.memory_rates = kept_.memory_rates;
  }
  costs.of(provenance_).add_checks(checks);
  costs.of(provenance_).add_checks(check_.checks());
  replace_file(file_, to_json(costs));
}

}  // namespace troika
