#include "train/fingerprint.h"

#include <fmt/format.h>

#include "base/hash.h"
#include "config/show_run.h"

namespace troika {
namespace {

/// Hashes only the size and the first sample: hashing a whole data set would take too long, and
/// different files or versions usually differ there.
std::string describe(const std::string& uri, const data::Dataset& dataset) {
  std::vector<std::vector<std::byte>> bytes;
  std::vector<std::span<std::byte>> fields;
  for (const data::Field& field : dataset.fields())
    bytes.emplace_back(static_cast<std::size_t>(field.spec.bytes().count));
  for (std::vector<std::byte>& field : bytes) fields.emplace_back(field);
  std::uint64_t hash = 0;
  if (dataset.size() > 0) dataset.read({0, 0}, fields);
  for (const std::vector<std::byte>& field : bytes) hash = hash * 31 + checksum(field);
  return fmt::format("data {}: {} samples, the first with checksum {:016x}\n", uri, dataset.size(),
                     hash);
}

}  // namespace

std::string fingerprint_of_run(const RunConfig& config, const TrainingSets& sets) {
  // Another build or compiler may choose other kernels, or sum in another order.
  std::string text = fmt::format("build {} by {}\n", TROIKA_BUILD, __VERSION__);
  text += write_toml(config);
  text += describe(config.data.train, *sets.train);
  if (sets.validation) text += describe(config.data.validation, *sets.validation);
  if (sets.test) text += describe(config.data.test, *sets.test);
  return text;
}

std::string fingerprint_of_programs(const LiveModel& live, const Graph& model,
                                    const Strategy& strategy) {
  std::string text = fmt::format("model {:016x}\n", model_hash(model));
  // In full and not as a hash: the message about a difference shows the first line that differs.
  text += to_json(strategy) + "\n";
  text += fmt::format("kernel table {:016x}\n", live.kernels().hash());
  text += fmt::format("link costs {:016x}\n", hash_text(to_json(live.setup().links)));
  for (const TaskGraph* program : live.programs())
    text += fmt::format("program {} {:016x}\n", program->name, program->plan_hash);
  return text;
}

}  // namespace troika
