#include "train/training_sets.h"

#include <fmt/format.h>

#include "base/error.h"

namespace troika {
namespace {

bool is_language(const std::string& uri) {
  return uri.starts_with("text:") || uri.starts_with("tokens:");
}

/// Before the samples are opened, which would complain about normalisation instead.
void check_kind(const DataConfig& data) {
  if (is_language(data.train) == is_language(data.test)) return;
  throw Error(
      ErrorKind::usage,
      fmt::format("the model was trained on samples of '{}', and '{}' is another kind of data",
                  data.train, data.test));
}

data::Normalization normalization_of(const Normalize& config) {
  if (config.kind == Normalize::Kind::none) return data::Normalization::identity();
  data::Normalization normalization;
  for (double mean : config.mean) normalization.mean.push_back(static_cast<float>(mean));
  for (double deviation : config.deviation)
    normalization.deviation.push_back(static_cast<float>(deviation));
  return normalization;
}

}  // namespace

void check_fit(const data::Dataset& train, const data::Dataset& given, const std::string& name) {
  std::span<const data::Field> wanted = train.fields(), there = given.fields();
  for (std::size_t at = 0; at < wanted.size(); ++at) {
    if (at < there.size() && there[at] == wanted[at]) continue;
    throw Error(ErrorKind::usage,
                fmt::format("the model was trained on samples with '{}' {}, but '{}' has {}",
                            wanted[at].name, to_string(wanted[at].spec), name,
                            at < there.size() ? to_string(there[at].spec) : "none"));
  }
  if (given.classes() > train.classes())
    throw Error(ErrorKind::usage, fmt::format("'{}' has {} classes, but the model knows {}", name,
                                              given.classes(), train.classes()));
  const data::Vocabulary *known = train.vocabulary(), *used = given.vocabulary();
  if (known != nullptr && used != nullptr && *known != *used)
    throw Error(
        ErrorKind::usage,
        fmt::format(
            "'{}' is made of other characters than the text that the model was trained on; take "
            "a range of one file for each",
            name));
}

TrainingSets open_sets(const RunConfig& config) {
  data::OpenOptions options{.augment = config.data.augment,
                            .seed = static_cast<std::uint64_t>(config.train.seed)};
  if (config.data.sequence) options.sequence_length = *config.data.sequence;
  if (config.data.normalize.kind != Normalize::Kind::automatic)
    options.normalization = normalization_of(config.data.normalize);
  if (!config.data.test.empty()) check_kind(config.data);
  TrainingSets sets{.train = data::open(config.data.train, options)};
  if (config.data.test.empty()) return sets;
  options.augment.clear();
  if (const data::Normalization* used = sets.train->normalization()) options.normalization = *used;
  sets.test = data::open(config.data.test, options);
  check_fit(*sets.train, *sets.test, config.data.test);
  return sets;
}

zoo::Samples samples_of(const data::Dataset& dataset, const RunConfig& config, std::int64_t batch) {
  zoo::Samples samples{.batch = batch,
                       .classes = dataset.classes(),
                       .dtype = config.kernels.dtype,
                       .shards = config.train.shards};
  for (const data::Field& field : dataset.fields())
    samples.fields.push_back({field.name, field.spec});
  return samples;
}

}  // namespace troika
