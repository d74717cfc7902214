#include "train/movement.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "base/error.h"

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
  std::ranges::stable_partition(
      tensors, [](const StateTensor& tensor) { return tensor.kind != StateKind::optimizer; });
  return tensors;
}

Comparison compare_movements(const Ends& ends, double tolerance) {
  std::map<StateKind, double> largest_moves;
  std::map<std::string, double> moves;
  for (const StateTensor& tensor : ends.truth) {
    double move = distance(tensor.values, find(ends.start, tensor.name).values);
    moves[tensor.name] = move;
    largest_moves[tensor.kind] = std::max(largest_moves[tensor.kind], move);
  }
  Comparison result;
  for (const StateTensor& tensor : ends.truth) {
    double apart = distance(find(ends.found, tensor.name).values, tensor.values);
    double relative = apart / (moves[tensor.name] + largest_moves[tensor.kind]);
    if (apart == 0) relative = 0;  // even where nothing has moved
    if (!std::isfinite(relative)) relative = std::numeric_limits<double>::infinity();
    if (relative > tolerance && !result.first) result.first = {tensor.name, relative};
    if (relative >= result.largest.distance) result.largest = {tensor.name, relative};
  }
  return result;
}

}  // namespace troika
