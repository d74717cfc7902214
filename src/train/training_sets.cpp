#include "train/training_sets.h"

#include "data/held_out.h"
#include "setup/hosts.h"
#include "zoo/zoo.h"

namespace troika {
namespace {

data::Normalization normalization_of(const Normalize& config) {
  if (config.kind == Normalize::Kind::none) return data::Normalization::identity();
  data::Normalization normalization;
  for (double mean : config.mean) normalization.mean.push_back(static_cast<float>(mean));
  for (double deviation : config.deviation)
    normalization.deviation.push_back(static_cast<float>(deviation));
  return normalization;
}

}  // namespace

TrainingSets open_sets(const RunConfig& config, const std::optional<data::Encoding>& weights_from) {
  // Models that see the whole sequence learn to fill masks; others predict the next token.
  data::OpenOptions options{.sequence_length = config.data.sequence,
                            .augment = config.data.augment,
                            .seed = static_cast<std::uint64_t>(config.train.seed),
                            .threads = usable_threads(),
                            .masked = zoo::sees_whole_sequence(config.model.name)};
  options.weights_from = weights_from;
  if (config.data.normalize.kind == Normalize::Kind::automatic)
    // A mean and a deviation that the user states are those of the inputs; targets then stay as
    // they are (docs/data.md).
    options.normalize_targets = true;
  else
    options.normalization = normalization_of(config.data.normalize);
  // First, because the other sets are encoded like the training set.
  TrainingSets sets{.train = data::open(config.data.train, options)};
  open_test(sets, config);
  open_validation(sets, config);
  return sets;
}

void open_test(TrainingSets& sets, const RunConfig& config) {
  if (!config.data.test.empty())
    sets.test = open_like(sets.train->encoding(), config.data.test, config);
}

void open_validation(TrainingSets& sets, const RunConfig& config) {
  const std::string& validation = config.data.validation;
  if (validation.empty()) return;
  const data::Encoding& encoding = sets.train->encoding();
  if (!data::is_part(validation)) {
    sets.validation = open_like(encoding, validation, config);
    return;
  }
  // Held-out samples are read without augmentation, so the data is opened a second time.
  data::TrainingViews views{.plain = open_like(encoding, config.data.train, config)};
  views.augmented = std::move(sets.train);
  data::HeldOut parts = data::hold_out(validation, std::move(views));
  sets.train = std::move(parts.train);
  sets.validation = std::move(parts.held_out);
}

std::unique_ptr<data::Dataset> open_like(const data::Encoding& trained, const std::string& uri,
                                         const RunConfig& config) {
  return data::open(uri, {.seed = static_cast<std::uint64_t>(config.train.seed),
                          .threads = usable_threads(),
                          .like = trained});
}

zoo::Samples samples_of(const data::Encoding& encoding, const RunConfig& config,
                        std::int64_t batch) {
  zoo::Samples samples{.batch = batch,
                       .classes = encoding.classes,
                       .vocabulary = encoding.words ? encoding.words->size() : 0,
                       .dtype = config.kernels.dtype,
                       .shards = config.train.shards};
  for (const data::Field& field : encoding.fields)
    samples.fields.push_back({field.name, field.spec});
  return samples;
}

}  // namespace troika
