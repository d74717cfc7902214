#include "train/feeds.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/hash.h"
#include "base/random.h"

namespace troika {
namespace {

/// Returns the shape of a field in a batch; nothing if samples have no such field.
std::optional<Shape> shape_in_batch(const std::string& name, const zoo::Samples& samples) {
  // If samples have no weights the loader makes them: one per class index of the target, or one per
  // sample of a regression.
  const zoo::Field* field = samples.find(name);
  if (field == nullptr && name == "weight") {
    field = samples.find("target");
    if (field != nullptr && field->spec.dtype != DType::i32) return Shape{samples.batch};
  }
  if (field == nullptr) return std::nullopt;
  Shape shape{samples.batch};
  for (std::int64_t extent : field->spec.shape) shape.push_back(extent);
  return shape;
}

void require_input(const zoo::NamedGraph& named, const Tensor& input, const zoo::Samples& samples) {
  if (std::ranges::count(named.feeds, input.name, &zoo::Feed::input) > 0) return;
  std::optional<Shape> shape = shape_in_batch(input.name, samples);
  if (shape == input.spec.shape) return;
  std::vector<std::string> names;
  for (const zoo::Field& field : samples.fields) names.push_back(field.name);
  throw Error(
      ErrorKind::usage,
      shape
          ? fmt::format("model '{}' takes '{}' as {}, but a batch of the data has {}; choose other "
                        "data or model options",
                        named.graph.name, input.name, to_string(input.spec), to_string(*shape))
          : fmt::format("model '{}' has an input '{}' that nothing feeds: the data has {}; choose "
                        "data that has it",
                        named.graph.name, input.name, fmt::join(names, ", ")));
}

}  // namespace

void require_fed(const zoo::Model& model, const zoo::Samples& samples) {
  for (const zoo::NamedGraph& named : model.graphs)
    for (TensorId input : named.graph.inputs) require_input(named, named.graph[input], samples);
}

void fill_feed(const zoo::Feed& feed, const TensorSpec& spec, StepKey key,
               std::span<std::byte> bytes) {
  // Each element is a function of (seed, step, input, index), however many devices there are.
  RandomStream random{.key = key.seed, .stream = hash_text("feed " + feed.input), .step = key.step};
  auto value = [&](std::size_t element) {
    if (feed.kind == zoo::Feed::Kind::normal) return random.normal(element);
    return feed.values[element % feed.values.size()];
  };
  dispatch(spec.dtype, [&]<class T>() {
    std::span<T> values{reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(value(i));
  });
}

Range hull(Range a, Range b) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  return {std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

Range sample_rows(const Session& session, const std::string& program, std::int64_t batch) {
  const TaskGraph& graph = session.program(program);
  Range rows{};
  for (const auto& [name, id] : graph.inputs) {
    const BufferSpec& part = graph[id];
    // Ranks read only the rows of their own devices; a rank without inputs gets an empty range and
    // reads nothing.
    if (!session.is_here(part.device)) continue;
    if (part.part_of.empty()) return {0, batch};  // an input that is not split
    if (part.whole.rank() > 0 && part.whole[0] == batch) rows = hull(rows, part.region[0]);
  }
  return rows;
}

}  // namespace troika
