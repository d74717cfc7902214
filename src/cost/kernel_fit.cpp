#include "cost/kernel_fit.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

namespace troika {
namespace {

/// With fewer rows a family has the shape of all kernels together, scaled to its own rows.
constexpr std::size_t kLeastSamples = 6;
/// Rounds of coordinate descent. The terms are few and positive, so it settles quickly.
constexpr int kRounds = 400;

double extent_of(const Signature& s, std::initializer_list<AxisKind> kinds) {
  double extent = 1;
  for (const Axis& axis : s.axes)
    if (std::ranges::count(kinds, axis.kind) > 0) extent *= static_cast<double>(axis.extent);
  return std::max(extent, 1.0);
}

std::optional<SimTime> fastest(const std::vector<Candidate>& candidates) {
  std::optional<SimTime> least;
  for (const Candidate& candidate : candidates)
    if (candidate.time && candidate.timing && (!least || *candidate.time < *least))
      least = candidate.time;
  return least;
}

}  // namespace

std::string KernelFit::family_of(const KernelKey& key) {
  std::string name(name_of(key.op));
  name += ' ';
  name += to_string(key.phase);
  for (const FusedOp& next : key.fused) name += ' ', name += name_of(next.op);
  return name;
}

KernelFit::Terms KernelFit::terms_of(const KernelKey& key) {
  Signature s = signature(key.op, key.inputs);
  auto flops = static_cast<double>(flops_of(key).count);
  return {1,
          static_cast<double>(bytes_of(key).count),
          flops,
          flops / extent_of(s, {AxisKind::sample, AxisKind::attribute}),
          flops / extent_of(s, {AxisKind::parameter}),
          flops / extent_of(s, {AxisKind::reduction})};
}

double KernelFit::sum(const Terms& weights, const Terms& terms) {
  double all = 0;
  for (std::size_t at = 0; at < kTerms; ++at) all += weights[at] * terms[at];
  return all;
}

/// The rate, per second, that is exceeded for a twentieth of the time: single rows may be wrong.
double KernelFit::sustained_rate(const std::vector<Sample>& samples, std::size_t term) {
  constexpr double kBestPart = 0.05;
  std::vector<std::pair<double, double>> by_rate;  // and time
  double left = 0;
  for (const Sample& sample : samples) {
    by_rate.emplace_back(sample.terms[term] / sample.time * 1e9, sample.time);
    left += sample.time * kBestPart;
  }
  std::ranges::sort(by_rate, std::greater{});
  for (const auto& [rate, time] : by_rate)
    if ((left -= time) <= 0) return rate;
  return by_rate.back().first;
}

/// Least squares of the relative error with weights that are not negative, by coordinate descent.
KernelFit::Terms KernelFit::solve(const std::vector<Sample>& samples) {
  std::array<std::array<double, kTerms>, kTerms> products{};
  std::array<double, kTerms> target{};
  for (const Sample& sample : samples) {
    for (std::size_t row = 0; row < kTerms; ++row) {
      double scaled = sample.terms[row] / sample.time;
      target[row] += scaled;
      for (std::size_t column = 0; column < kTerms; ++column)
        products[row][column] += scaled * sample.terms[column] / sample.time;
    }
  }
  Terms weights{};
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t at = 0; at < kTerms; ++at) {
      if (products[at][at] <= 0) continue;
      double rest = target[at];
      for (std::size_t other = 0; other < kTerms; ++other)
        if (other != at) rest -= products[at][other] * weights[other];
      weights[at] = std::max(0.0, rest / products[at][at]);
    }
  }
  return weights;
}

void KernelFit::fit_family(Family& family) const {
  if (family.samples.size() >= kLeastSamples) {
    family.weights = solve(family.samples);
    return;
  }
  double ratio = 0;  // its geometric mean, so that one odd row counts little
  for (const Sample& sample : family.samples)
    ratio += std::log(sample.time / std::max(1.0, sum(general_, sample.terms)));
  ratio = std::exp(ratio / static_cast<double>(family.samples.size()));
  for (std::size_t at = 0; at < kTerms; ++at) family.weights[at] = general_[at] * ratio;
}

KernelFit::KernelFit(const KernelRows& rows) {
  std::vector<Sample> all;
  for (const auto& [text, row] : rows.rows_by_text()) {
    std::optional<SimTime> time = fastest(row->candidates);
    if (!time || time->count <= 0) continue;
    Sample sample{terms_of(row->key), static_cast<double>(time->count)};
    families_[family_of(row->key)].samples.push_back(sample);
    all.push_back(sample);
  }
  measured_ = std::ssize(all);
  if (all.empty()) return;
  rates_.flops_per_second = sustained_rate(all, 2);
  rates_.bytes_per_second = sustained_rate(all, 1);
  // Data that stay in a cache move faster than memory does.
  if (!rows.memory_rates.empty()) rates_.bytes_per_second = rows.memory_rates.begin()->second;
  general_ = solve(all);
  for (auto& [name, family] : families_) {
    fit_family(family);
    for (const Sample& sample : family.samples)
      error_ += std::abs(sum(family.weights, sample.terms) / sample.time - 1);
  }
  error_ /= static_cast<double>(measured_);
}

const KernelFit::Terms* KernelFit::find_weights(const KernelKey& key) const {
  if (measured_ == 0) return nullptr;
  auto found = families_.find(family_of(key));
  if (found != families_.end()) return &found->second.weights;
  return key.fused.empty() ? &general_ : nullptr;
}

std::optional<SimTime> KernelFit::time(const KernelKey& key) const { return time(key, rates_); }

std::optional<SimTime> KernelFit::time(const KernelKey& key, const DeviceRates& rates) const {
  const Terms* weights = find_weights(key);
  if (weights == nullptr) return std::nullopt;
  Terms terms = terms_of(key);
  auto ratio = [](double from, double to) { return from > 0 && to > 0 ? from / to : 1; };
  double arithmetic = ratio(rates_.flops_per_second, rates.flops_per_second);
  terms[1] *= ratio(rates_.bytes_per_second, rates.bytes_per_second);
  for (std::size_t at = 2; at < kTerms; ++at) terms[at] *= arithmetic;
  return SimTime{std::max<std::int64_t>(1, std::llround(sum(*weights, terms)))};
}

}  // namespace troika
