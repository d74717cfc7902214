#include "profile/measured_costs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "base/error.h"
#include "base/hash.h"

namespace troika {
namespace {

namespace fs = std::filesystem;

/// What is kept for this kind of device; nothing when the file is not there, or not whole.
KernelTable read_kept(const fs::path& path, const std::string& device) {
  std::ifstream file(path);
  if (!file) return {};
  std::ostringstream text;
  text << file.rdbuf();
  try {
    CostFile costs = parse_costs(text.str());
    if (costs.device == device) return std::move(costs.table);
  } catch (const Error&) {
    // A spoilt cache is like none: it is written anew.
  }
  return {};
}

}  // namespace

MeasuredCosts::MeasuredCosts(Device& device, const Backend& backend, Options options)
    : device_(device),
      backend_(backend),
      timer_(device, backend),
      given_(std::move(options.given)) {
  if (options.folder.empty()) return;
  file_ = options.folder / fmt::format("kernels-{:016x}.json", hash_text(device.kind()));
  kept_ = read_kept(file_, device.kind());
}

std::vector<Candidate> MeasuredCosts::answer(const KernelKey& key) {
  std::vector<Candidate> candidates = backend_.candidates(key);
  if (take_times(given_, key, candidates) || take_times(kept_, key, candidates)) return candidates;
  timer_.measure(key, candidates);
  kept_.insert(key, candidates);
  measured_ += std::ssize(candidates);
  unsaved_ = true;
  return candidates;
}

void MeasuredCosts::save() {
  if (!unsaved_ || file_.empty()) return;
  unsaved_ = false;
  std::error_code failed;
  fs::create_directories(file_.parent_path(), failed);
  KernelTable all = read_kept(file_, device_.kind());
  for (const auto& [key, candidates] : kept_.rows()) all.insert(key, candidates);
  fs::path temporary = file_;
  temporary += fmt::format(".{}", getpid());
  std::ofstream(temporary) << to_json(all, device_.kind());
  fs::rename(temporary, file_, failed);
}

}  // namespace troika
