// A set of samples that can be read in any order: the one thing the loader, the trainer and
// `inspect` know about data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/normalization.h"
#include "data/vocabulary.h"
#include "tensor/tensor_spec.h"

namespace troika::data {

/// One named tensor of a sample, without the batch dimension.
struct Field {
  std::string name;
  TensorSpec spec;
  bool operator==(const Field&) const = default;
};

/// Which sample, and in which pass over the data: the pass seeds augmentation and nothing else.
struct Sample {
  std::int64_t index = 0;
  std::int64_t epoch = 0;
  bool operator==(const Sample&) const = default;
};

/// Constant after construction: every member may be called from any thread at once.
class Dataset {
 public:
  virtual ~Dataset() = default;

  virtual std::int64_t size() const = 0;
  /// Images: "input" f32 [C,H,W] (or [F]) and "target" i32 []. Language: "input" i32 [T] and
  /// "target" i32 [T].
  virtual std::span<const Field> fields() const = 0;
  /// Targets lie in [0, classes()): the classes of an image set, the vocabulary of a language set.
  virtual std::int64_t classes() const = 0;

  /// Writes one sample, field by field, in the order of fields(); each destination has exactly that
  /// field's bytes and is aligned for its element type. Throws Error(file) when the file turns out
  /// to be bad there.
  virtual void read(Sample sample, std::span<const std::span<std::byte>> fields) const = 0;

  /// What was applied to the images, so that a test set can be opened with the numbers of its
  /// training set; null for language.
  virtual const Normalization* normalization() const { return nullptr; }
  /// Null unless the set is text.
  virtual const Vocabulary* vocabulary() const { return nullptr; }
};

struct OpenOptions {
  std::int64_t sequence_length = 128;          ///< T of language sets.
  std::optional<Normalization> normalization;  ///< Absent: measured on the set itself ("auto").
  std::vector<std::string> augment;            ///< "crop 4", "flip"; images only.
  std::uint64_t seed = 1;                      ///< Of augmentation.
};

/// Opens `scheme:path?key=value[begin:end]`:
///   digits:train, digits:test    drawn by Troika itself; ?size=N, ?seed=N
///   idx:DIR, idx:DIR/t10k        MNIST's format, plain or gzip; a folder means its train files,
///   else its t10k files cifar10:DIR, cifar10:DIR/test, cifar10:FILE.bin npy:images.npy,labels.npy
///   f32, f64, i32, i64 or u8 (u8 is scaled to [0,1]), C order tokens:FILE.bin little-endian
///   uint16; ?vocabulary=N spares the scan for the largest text:FILE                    UTF-8, one
///   token per character
/// The range counts samples (images) or tokens (language). Throws Error(usage) for a bad name or
/// option, Error(file) for a bad file.
std::unique_ptr<Dataset> open(std::string_view uri, const OpenOptions& options = {});

}  // namespace troika::data
