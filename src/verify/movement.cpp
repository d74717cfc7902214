#include "verify/movement.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <span>

#include "base/error.h"
#include "base/hash.h"
#include "base/random.h"

namespace troika {
namespace {

std::set<std::string> names_of_statistics(const zoo::Model& model) {
  std::set<std::string> names;
  for (const zoo::NamedGraph& named : model.graphs)
    for (const Parameter& parameter : named.graph.parameters)
      if (parameter.state) names.insert(parameter.name);
  return names;
}

std::vector<double> read_values(Session& session, const StateEntry& entry) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(entry.spec.bytes().count));
  session.store(entry.name, bytes);
  std::vector<double> values;
  dispatch(entry.spec.dtype, [&]<class T>() {
    std::span<const T> stored{reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
    for (const T& value : stored) values.push_back(static_cast<double>(value));
  });
  return values;
}

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  TROIKA_CHECK_EQ(a.size(), b.size());
  // In f64, whatever the type of the tensor: the differences are of the size of f32's rounding.
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum);
}

const StateTensor& find(const std::vector<StateTensor>& state, const std::string& name) {
  auto found = std::ranges::find(state, name, &StateTensor::name);
  TROIKA_CHECK(found != state.end(), "the other state has no '" + name + "'");
  return *found;
}

}  // namespace

double float_tolerance(double noise) {
  // f32 has 24 bits (6e-8); sums of some thousand terms over a few steps lose about three digits.
  constexpr double kLeast = 1e-4, kTimesNoise = 8;
  return std::max(kLeast, kTimesNoise * noise);
}

std::vector<StateTensor> read_tensors(Session& session, const zoo::Model& model) {
  std::set<std::string> statistics = names_of_statistics(model);
  std::vector<StateTensor> tensors;
  for (const StateEntry& entry : session.state()) {
    StateKind kind = entry.category == Category::optimizer ? StateKind::optimizer
                     : statistics.contains(entry.name)     ? StateKind::statistics
                                                           : StateKind::weight;
    tensors.push_back({entry.name, kind, read_values(session, entry)});
  }
  // Weights first: PlanVerdict::first() then names a weight rather than its moments.
  std::ranges::stable_partition(
      tensors, [](const StateTensor& tensor) { return tensor.kind != StateKind::optimizer; });
  return tensors;
}

std::vector<TensorDistance> distances_between(const Ends& ends) {
  // The denominators come from the truth alone, so that a wrong result cannot enlarge them.
  std::map<StateKind, double> largest_moves;
  std::map<std::string, double> moves;
  for (const StateTensor& tensor : ends.truth) {
    double move = distance(tensor.values, find(ends.start, tensor.name).values);
    moves[tensor.name] = move;
    largest_moves[tensor.kind] = std::max(largest_moves[tensor.kind], move);
  }
  std::vector<TensorDistance> distances;
  for (const StateTensor& tensor : ends.truth) {
    double apart = distance(find(ends.found, tensor.name).values, tensor.values);
    double relative = apart / (moves[tensor.name] + largest_moves[tensor.kind]);
    if (apart == 0) relative = 0;  // also if nothing has moved, which would give 0 / 0
    // NaN is not greater than any tolerance, so it would count as agreement.
    if (!std::isfinite(relative)) relative = std::numeric_limits<double>::infinity();
    distances.push_back({tensor.name, relative});
  }
  return distances;
}

Comparison compare_movements(const Ends& ends, double tolerance) {
  Comparison result;
  for (const TensorDistance& tensor : distances_between(ends)) {
    if (tensor.distance > tolerance && !result.first) result.first = tensor;
    if (tensor.distance >= result.largest.distance) result.largest = tensor;
  }
  return result;
}

void nudge_weights(Session& session, const zoo::Model& model, std::uint64_t nudge) {
  for (const StateTensor& tensor : read_tensors(session, model)) {
    // Statistics and moments change with the weights during the steps.
    if (tensor.kind != StateKind::weight) continue;
    // A unit in the last place of f32 is 2^-23 of the value or less, so these are about two units.
    RandomStream random{.key = nudge, .stream = hash_text(tensor.name)};
    std::vector<float> values;
    for (std::size_t i = 0; i < tensor.values.size(); ++i)
      values.push_back(static_cast<float>(tensor.values[i] * (1 + 0x1p-22 * random.normal(i))));
    session.load(tensor.name, std::as_bytes(std::span(values)));
  }
}

std::vector<StateTensor> moved_to(std::vector<StateTensor> end,
                                  const std::vector<StateTensor>& from,
                                  const std::vector<StateTensor>& to) {
  for (StateTensor& tensor : end) {
    const std::vector<double>& old_start = find(from, tensor.name).values;
    const std::vector<double>& new_start = find(to, tensor.name).values;
    for (std::size_t i = 0; i < tensor.values.size(); ++i)
      tensor.values[i] += new_start[i] - old_start[i];
  }
  return end;
}

}  // namespace troika
