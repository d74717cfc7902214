#include "profile/measured_costs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "base/durable_file.h"
#include "base/error.h"
#include "base/hash.h"

namespace troika {
namespace {

namespace fs = std::filesystem;

/// Returns the rows kept for this kind of device; none if the file is damaged.
KernelRows read_kept(const fs::path& path, const std::string& device) {
  std::optional<KernelTable> costs = read_costs(path);
  return costs ? std::move(costs->of(device)) : KernelRows{};
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
    : backend_(backend),
      timer_(device, backend),
      check_(device, backend),
      provenance_(options.made_by.empty() ? device.kind()
                                          : device.kind() + " by " + options.made_by),
      measures_anew_(options.measures_anew),
      memory_(options.memory) {
  given_ = std::move(options.given.of(device.kind()));
  if (options.folder.empty()) return;
  file_ = options.folder / fmt::format("kernels-{:016x}.json", hash_text(provenance_));
  if (!measures_anew_) kept_ = read_kept(file_, provenance_);
  check_.take_known(kept_.checks());
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
  if (take_times(given_, key, candidates) || take_times(kept_, key, candidates)) return candidates;
  auto start = std::chrono::steady_clock::now();
  timer_.measure(key, candidates);
  measuring_seconds_ +=
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  kept_.insert(key, candidates);
  new_rows_.insert(key, candidates);
  measured_ += std::ssize(candidates);
  return candidates;
}

void MeasuredCosts::finish() {
  timer_.release();
  why_not_kept_.clear();
  if (new_rows_.size() == 0 && check_.checked() == checks_kept_) return;
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
  KernelRows there = read_kept(file_, provenance_);
  KernelTable kept;
  KernelRows& first = kept.of(provenance_);
  first = measures_anew_ ? std::move(there) : std::move(new_rows_);
  const KernelRows& last = measures_anew_ ? new_rows_ : there;
  for (const auto& [key, candidates] : last.rows()) first.insert(key, candidates);
  first.add_checks(last.checks());
  first.add_checks(check_.checks());
  replace_file(file_, to_json(kept));
}

}  // namespace troika
