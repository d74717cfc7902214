#include "profile/measured_costs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <chrono>
#include <utility>

#include "base/durable_file.h"
#include "base/error.h"
#include "base/hash.h"

namespace troika {
namespace {

namespace fs = std::filesystem;

/// What is kept for this kind of device; a spoilt file is like none.
KernelTable read_kept(const fs::path& path, const std::string& device) {
  std::optional<CostFile> costs = read_costs(path);
  return costs && costs->device == device ? std::move(costs->table) : KernelTable{};
}

/// Held for the life of the object; none where the file cannot be opened.
class FileLock {
 public:
  explicit FileLock(const std::string& path)
      : file_(open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644)) {
    if (file_ >= 0) flock(file_, LOCK_EX);
  }
  ~FileLock() {
    if (file_ >= 0) close(file_);
  }
  FileLock(const FileLock&) = delete;

 private:
  int file_;
};

}  // namespace

MeasuredCosts::MeasuredCosts(Device& device, const Backend& backend, Options options)
    : backend_(backend),
      timer_(device, backend),
      check_(device, backend),
      provenance_(options.made_by.empty() ? device.kind()
                                          : device.kind() + " by " + options.made_by),
      measures_anew_(options.measures_anew) {
  if (options.given.device == device.kind()) given_ = std::move(options.given.table);
  if (options.folder.empty()) return;
  file_ = options.folder / fmt::format("kernels-{:016x}.json", hash_text(provenance_));
  if (!measures_anew_) kept_ = read_kept(file_, provenance_);
  check_.take_known(kept_.checks());
}

std::vector<Candidate> MeasuredCosts::answer(const KernelKey& key) {
  std::vector<Candidate> offered = backend_.candidates(key);
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
  if ((new_rows_.size() == 0 && check_.checked() == checks_kept_) || file_.empty()) return;
  try {
    make_folder(file_.parent_path());
    FileLock lock(file_.string() + ".lock");
    KernelTable there = read_kept(file_, provenance_);
    KernelTable first = measures_anew_ ? std::move(there) : std::move(new_rows_);
    const KernelTable& last = measures_anew_ ? new_rows_ : there;
    for (const auto& [key, candidates] : last.rows()) first.insert(key, candidates);
    first.add_checks(last.checks());
    first.add_checks(check_.checks());
    replace_file(file_, to_json(first, provenance_));
  } catch (const Error&) {
    // The next start measures again.
  }
  new_rows_ = {};
  checks_kept_ = check_.checked();
}

std::vector<LeftOutKernel> MeasuredCosts::left_out(const KernelKey& key) const {
  return check_.left_out(key, backend_.candidates(key));
}

}  // namespace troika
