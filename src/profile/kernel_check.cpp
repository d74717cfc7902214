#include "profile/kernel_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>

#include "base/error.h"
#include "kernels/key_trial.h"
#include "profile/smaller_keys.h"

namespace troika {
namespace {

/// The reference loops are not checked, since others are compared with them.
bool is_truth(const Candidate& candidate) { return candidate.algorithm == "reference"; }

class CheckWork final : public Work {
 public:
  explicit CheckWork(std::function<void()> body) : body_(std::move(body)) {}
  void run() override { body_(); }

 private:
  std::function<void()> body_;
};

std::vector<std::string> texts_of(const std::vector<KernelKey>& keys) {
  std::vector<std::string> texts;
  for (const KernelKey& key : keys) texts.push_back(to_text(key));
  return texts;
}

}  // namespace

std::string to_text(const LeftOutKernel& kernel) {
  return fmt::format("{} for {}: {}", kernel.kernel, kernel.key, kernel.reason);
}

std::vector<LeftOutKernel> failed_checks(const KernelChecks& checks) {
  std::vector<LeftOutKernel> list;
  for (const auto& [key, kernels] : checks)
    for (const auto& [kernel, reason] : kernels)
      if (!reason.empty()) list.push_back({key, kernel, reason});
  return list;
}

std::vector<Candidate> KernelCheck::keep_right(const KernelKey& key,
                                               std::vector<Candidate> candidates) {
  std::vector<KernelKey> keys = smaller_keys(key);
  std::vector<std::string> texts = texts_of(keys);
  std::vector<Candidate> unknown;
  for (const Candidate& candidate : candidates)
    if (!is_truth(candidate) && find(texts, candidate) == nullptr) unknown.push_back(candidate);
  if (!unknown.empty()) check(keys, unknown);
  std::size_t offered = candidates.size();
  std::string reasons;
  std::erase_if(candidates, [&](const Candidate& candidate) {
    if (is_truth(candidate)) return false;
    const std::string& reason = *find(texts, candidate);
    if (!reason.empty()) reasons += fmt::format("; {}: {}", to_text(candidate), reason);
    return !reason.empty();
  });
  if (candidates.empty() && offered > 0)
    throw Error(ErrorKind::numeric,
                fmt::format("no kernel for {} agrees with the reference{}; report this with the "
                            "output of `troika doctor`, and train with kernels.backend = "
                            "\"reference\" or another version of oneDNN meanwhile",
                            to_text(key), reasons));
  return candidates;
}

std::vector<LeftOutKernel> KernelCheck::left_out(const KernelKey& key,
                                                 const std::vector<Candidate>& candidates) const {
  std::vector<LeftOutKernel> list;
  std::vector<std::string> texts = texts_of(smaller_keys(key));
  for (const Candidate& candidate : candidates) {
    const std::string* reason = find(texts, candidate);
    if (reason != nullptr && !reason->empty())
      list.push_back({to_text(key), to_text(candidate), *reason});
  }
  return list;
}

/// Returns the result for the smallest key on which the candidate was checked.
const std::string* KernelCheck::find(const std::vector<std::string>& keys,
                                     const Candidate& candidate) const {
  std::string kernel = to_text(candidate);
  for (auto key = keys.rbegin(); key != keys.rend(); ++key) {
    auto row = checks_.find(*key);
    if (row == checks_.end()) continue;
    auto found = row->second.find(kernel);
    if (found != row->second.end()) return &found->second;
  }
  return nullptr;
}

void KernelCheck::check(const std::vector<KernelKey>& keys,
                        const std::vector<Candidate>& candidates) {
  auto start = std::chrono::steady_clock::now();
  std::vector<Candidate> left = candidates;
  // From the smallest key up. A backend may not offer a candidate for small keys; the last key, the
  // wanted one itself, checks all that are left.
  for (auto key = keys.rbegin(); key != keys.rend() && !left.empty(); ++key) {
    std::vector<Candidate> here;
    for (const Candidate& other : key + 1 == keys.rend() ? left : offered(*key)) {
      auto same = std::ranges::find(left, to_text(other),
                                    [](const Candidate& each) { return to_text(each); });
      if (same == left.end()) continue;
      here.push_back(other);
      if (key + 1 != keys.rend()) left.erase(same);
    }
    if (here.empty()) continue;
    // One trial with one reference result serves all candidates of the key.
    KeyTrial trial = make_trial(*key);
    std::map<std::string, std::string>& row = checks_[to_text(*key)];
    CheckWork work([&] {
      for (const Candidate& candidate : here)
        row[to_text(candidate)] = find_fault(trial, backend_, candidate);
    });
    Event done;
    device_.submit(work, done);
    done.wait();
    checked_ += std::ssize(here);
  }
  seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

const std::vector<Candidate>& KernelCheck::offered(const KernelKey& key) {
  auto [row, is_new] = offered_.try_emplace(to_text(key));
  if (is_new) row->second = backend_.candidates(key);
  return row->second;
}

}  // namespace troika
