// Samples to train on and to test with.
//
//   troika::data::Source train = troika::data::open("digits:train");
//   troika::data::Source test = troika::data::open("digits:test", {.like = train});
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace troika::data {

class Dataset;

/// A set of samples, each an input and a target. A handle: copies are cheap and share the samples,
/// which live as long as the last handle. Constant after construction, so any number of threads and
/// trainers may use one at once. Its functions do not fail.
class Source {
 public:
  /// The number of samples, which is one epoch.
  std::int64_t size() const;
  /// Targets lie in [0, classes()): the classes of images, the vocabulary of text. 0 if targets are
  /// numbers to predict.
  std::int64_t classes() const;
  /// The shape of one input, without the batch: {channels, height, width}, {features}, or {tokens}.
  std::vector<std::int64_t> shape() const;

  /// Not for users: the data set that the handle refers to.
  explicit Source(std::shared_ptr<const Dataset> dataset) : dataset_(std::move(dataset)) {}
  const std::shared_ptr<const Dataset>& dataset() const { return dataset_; }

 private:
  std::shared_ptr<const Dataset> dataset_;
};

struct SourceOptions {
  /// Tokens per sample. Absent: 128 of a running text, the longest of separate texts.
  std::optional<std::int64_t> sequence_length{};
  /// Random changes of training images, different in each epoch: "crop 4", "flip", "random_crop".
  std::vector<std::string> augment{};
  /// Seeds augmentation and masking.
  std::uint64_t seed = 1;
  /// Hides tokens of a running text and makes those the targets, for bidirectional models.
  bool masked = false;
  /// Numbers to predict are normalised for training: the mean of each is subtracted, and all are
  /// divided by one standard deviation, both measured on the samples. Losses, errors and
  /// predictions are still in the units of the samples. False: the numbers are used as they are.
  /// sigmoid_cross_entropy, whose targets lie in [0, 1], always uses them as they are.
  bool normalize_targets = true;
  /// Encode the samples as this source does: with its normalisation, vocabulary, classes and
  /// lengths. Absent: with those found in the samples themselves. A test set should be encoded like
  /// its training set.
  std::optional<Source> like{};
  /// With `like`: a csv: file may lack the columns to predict, and npy: the second file. For
  /// Trainer::predict.
  bool unlabelled = false;
};

/// Opens samples by name, `scheme:path?key=value[begin:end]`:
///   digits:train, digits:test    drawn by Troika itself, 28 x 28; ?size=N, ?seed=N
///   csv:FILE                     a header, features and a target; ?target=COLUMN, ?task=regress
///   idx:FOLDER, cifar10:FOLDER, npy:images.npy,labels.npy, images:FOLDER
///   tokens:FILE.bin, text:FILE, pairs:FILE, labelled:FILE
/// docs/data.md describes each. Files are read or mapped: they must not change while the source is
/// in use. Throws Error(usage) for a bad name or option, Error(file) for a file that is missing or
/// damaged.
Source open(const std::string& name, const SourceOptions& options = {});

/// Samples that a program has made. State `targets` or `numbers`, or neither for samples that are
/// only predicted; those need `like`.
struct MemorySamples {
  /// The shape of one input: {features} or {channels, height, width}.
  std::vector<std::int64_t> shape{};
  /// One input after the other, row-major.
  std::vector<float> inputs{};
  /// One class per input.
  std::vector<std::int32_t> targets{};
  /// 0: one more than the largest target.
  std::int64_t classes = 0;
  /// Numbers to predict, equally many for each input, one input after the other.
  std::vector<float> numbers{};
  /// See SourceOptions.
  bool normalize_targets = true;
  /// Encode the samples as this source does, with its normalisation: the source that the network
  /// was trained on. Inputs and numbers are stated in its units, before normalisation; pixels that
  /// are bytes in a file lie in [0, 1].
  std::optional<Source> like{};
};

/// Without `like`, inputs are taken as they are, without normalisation. Throws Error(usage) if
/// sizes are inconsistent, or if the samples are not like those of `like`.
///
///   std::vector<float> x{0, 1, 2, 3}, y{1, 3, 5, 7};
///   troika::data::Source line = troika::data::in_memory({.shape = {1}, .inputs = x, .numbers =
///   y});
Source in_memory(MemorySamples samples);

struct TrainingParts {
  Source train;
  Source validation;
};
/// Splits a source into two that share its samples. "10%" holds out samples chosen by a fixed
/// permutation, or the end of a running text; "[begin:end]" holds out that range. Throws
/// Error(usage) if the part is malformed or leaves no samples on one side. If the source is
/// augmented, both parts are.
///
///   auto [train, validation] = troika::data::hold_out(troika::data::open("digits:train"), "10%");
TrainingParts hold_out(const Source& source, const std::string& part);

}  // namespace troika::data
