#include "search/scoring_kernels.h"

#include <algorithm>

#include "base/error.h"

namespace troika {
namespace {

const Candidate* fastest(const std::vector<Candidate>& candidates) {
  const Candidate* best = nullptr;
  for (const Candidate& candidate : candidates)
    if (candidate.time && (best == nullptr || *candidate.time < *best->time)) best = &candidate;
  return best;
}

/// The operands that a kernel of the key may overwrite, as elementwise kernels do.
std::vector<InPlace> in_place_of(const KernelKey& key, const std::vector<Operand>& operands) {
  bool is_elementwise = std::holds_alternative<Activation>(key.op) ||
                        std::holds_alternative<Binary>(key.op) ||
                        std::holds_alternative<Bias>(key.op);
  if (!is_elementwise) return {};
  int written = static_cast<int>(operands.size()) - 1;
  for (int at = 0; at < written; ++at)
    if (operands[as_index(at)].access == Access::read &&
        operands[as_index(at)].spec == operands.back().spec)
      return {{written, at}};
  return {};
}

}  // namespace

ScoringKernels::ScoringKernels(const KernelTable& known, const Machine& machine) : known_(known) {
  std::string richest;  // the kind with the most timed rows
  for (const auto& [kind, rows] : known.kinds()) {
    KernelFit fit(rows);
    if (fit.measured() == 0) continue;
    auto most = fits_.find(richest);
    if (most == fits_.end() || fit.measured() > most->second.measured()) richest = kind;
    fits_.emplace(kind, std::move(fit));
  }
  for (const DeviceSpec& device : machine.devices) {
    bool is_own = fits_.contains(device.kind);
    Kind made{.source = is_own ? device.kind : richest,
              .rates = {device.flops_per_second, device.bytes_per_second},
              .is_own = is_own};
    kinds_.emplace(device.kind, std::move(made));
  }
}

std::optional<SimTime> ScoringKernels::known_time(const KernelRequest& row) const {
  const std::vector<Candidate>* rows = known_.find(row.kind, row.key);
  const Candidate* best = rows == nullptr ? nullptr : fastest(*rows);
  return best == nullptr ? std::nullopt : best->time;
}

bool ScoringKernels::may_fuse() const {
  for (const auto& [kind, rows] : known_.kinds())
    for (const KernelRows::Row& row : rows.rows())
      if (!row.key.fused.empty() && fastest(row.candidates) != nullptr) return true;
  return false;
}

bool ScoringKernels::is_measured(const KernelRequest& row) const {
  return known_time(row).has_value();
}

const std::string& ScoringKernels::source_of(const std::string& kind) const {
  return kinds_.at(kind).source;
}

const KernelFit* ScoringKernels::fit_of(const std::string& kind) const {
  auto found = fits_.find(source_of(kind));
  return found == fits_.end() ? nullptr : &found->second;
}

std::vector<Candidate> ScoringKernels::answer(const KernelRequest& row) const {
  const Kind& kind = kinds_.at(row.kind);
  const std::vector<Candidate>* known = known_.find(row.kind, row.key);
  if (known != nullptr && known->empty()) return {};
  std::vector<Operand> operands = operands_of(row.key);
  Candidate made{.algorithm = "scored",
                 .layouts = std::vector<Layout>(operands.size(), Layout::plain),
                 .in_place = in_place_of(row.key, operands)};
  if (const auto* reorder = std::get_if<Reorder>(&row.key.op))
    made.layouts = {reorder->from, reorder->to};
  if (kind.source.empty()) {
    if (!row.key.fused.empty()) return {};
    return {made};
  }
  made.time = known_time(row);
  if (!made.time) {
    const KernelFit& fit = fits_.at(kind.source);
    made.time = kind.is_own ? fit.time(row.key) : fit.time(row.key, kind.rates);
  }
  if (!made.time) return {};
  return {made};
}

}  // namespace troika
