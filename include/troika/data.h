// Samples to train on and to test with.
//
//   troika::data::Source train = troika::data::open("digits:train");
//   troika::data::Source test = troika::data::open("digits:test", {.like = train});
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troika::data {

class Dataset;

/// A set of samples, each an input and a target. A handle: copies are cheap and share the samples,
/// which live as long as one handle does. Constant after construction, so any number of threads and
/// trainers may use one at once.
class Source {
 public:
  /// Samples in one pass: an epoch.
  std::int64_t size() const;
  /// Targets lie in [0, classes()): the classes of images, the vocabulary of text. 0 where they are
  /// numbers to predict.
  std::int64_t classes() const;
  /// Of one input, without the batch: {channels, height, width}, {features}, or {tokens}.
  std::vector<std::int64_t> shape() const;

  /// Not for users: what the handle refers to.
  explicit Source(std::shared_ptr<const Dataset> dataset) : dataset_(std::move(dataset)) {}
  const std::shared_ptr<const Dataset>& dataset() const { return dataset_; }

 private:
  std::shared_ptr<const Dataset> dataset_;
};

struct SourceOptions {
  /// Tokens per sample. Absent: 128 of a running text, the longest of separate texts.
  std::optional<std::int64_t> sequence_length{};
  /// Changes to training images, drawn anew for each sample and epoch from `seed`: "crop 4",
  /// "flip", "random_crop".
  std::vector<std::string> augment{};
  std::uint64_t seed = 1;
  /// Hide tokens of a running text and ask for those alone, as a bidirectional model needs it.
  bool masked = false;
  /// Read the samples as this source was: with its normalisation, vocabulary, classes and lengths;
  /// absent: with what is found in the samples themselves. A test set should be like its training
  /// set.
  std::optional<Source> like{};
};

/// Opens samples by name, `scheme:path?key=value[begin:end]`:
///   digits:train, digits:test    drawn by Troika itself, 28 x 28; ?size=N, ?seed=N
///   idx:FOLDER, cifar10:FOLDER, npy:images.npy,labels.npy, images:FOLDER, csv:FILE,
///   tokens:FILE.bin, text:FILE, pairs:FILE, labelled:FILE
/// Reads the files, or maps them: they must not change while the source is in use. Throws
/// Error(usage) for a bad name or option, Error(file) for a file that is missing or damaged.
Source open(const std::string& name, const SourceOptions& options = {});

struct MemorySamples {
  /// Of one input: {features} or {channels, height, width}.
  std::vector<std::int64_t> shape{};
  /// One input after the other, row-major.
  std::vector<float> inputs{};
  /// One class per input.
  std::vector<std::int32_t> targets{};
  /// 0: one more than the largest target.
  std::int64_t classes = 0;
};

/// Samples that the program has made; they are taken as they are, without normalisation. Throws
/// Error(usage) when the numbers do not fit each other.
Source in_memory(MemorySamples samples);

}  // namespace troika::data
