// A set of samples that can be read in any order. The loader, training and `inspect` use data only
// through this interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/encoding.h"
#include "tensor/region.h"

namespace troika::data {

/// The number of a sample and of the pass over the data. The pass seeds augmentation and masking
/// and nothing else.
struct Sample {
  std::int64_t index = 0;
  std::int64_t epoch = 0;
  bool operator==(const Sample&) const = default;
};

/// Constant after construction: every member may be called from any thread at once. A new virtual
/// function must also be forwarded by ForwardingDataset, the base of all wrappers.
class Dataset {
 public:
  virtual ~Dataset() = default;

  virtual std::int64_t size() const = 0;
  /// The fields of a sample and how they are computed. Images: "input" f32 [C,H,W] (or [F]) and
  /// "target" i32 [], or f32 [K] where it is numbers to predict. Language: "input" i32 [T] and
  /// "target" i32 [T]. Separate texts: LabelledDataset, PairDataset. A field "weight", f32 in the
  /// shape of "target", weighs the targets; without it each counts 1. Numbers to predict have one
  /// weight per sample.
  virtual const Encoding& encoding() const = 0;

  /// Writes one sample, field by field, in the order of fields(); each destination has exactly that
  /// field's bytes and is aligned for its element type. Throws Error(file) if the file is damaged
  /// at that sample.
  virtual void read(Sample sample, std::span<const std::span<std::byte>> fields) const = 0;

  /// True if a sample takes so long to read that several threads should share a batch.
  virtual bool is_slow() const { return false; }
  /// Training shuffles samples within windows of this many (sampler.h); 0: over the whole set.
  virtual std::int64_t window() const { return 0; }
  /// These samples will be read soon, by any thread and in any order. A set in a mapped file starts
  /// to bring them into memory and does not wait for it.
  virtual void will_read(Range /*samples*/) const {}
  /// The number of samples of each class; empty if the classes have no names.
  virtual std::vector<std::int64_t> class_sizes() const { return {}; }
  /// False if samples have no targets, which then read as 0: see OpenOptions::unlabelled.
  virtual bool has_targets() const { return true; }

  std::span<const Field> fields() const { return encoding().fields; }
  /// Targets lie in [0, classes()): the classes of an image set, the vocabulary of a language set.
  /// 0 if targets are numbers to predict.
  std::int64_t classes() const { return encoding().classes; }
  /// Null for language.
  const Normalization* normalization() const {
    return encoding().normalization ? &*encoding().normalization : nullptr;
  }
  /// Null unless the set is a running text.
  const Vocabulary* vocabulary() const {
    return encoding().characters ? &*encoding().characters : nullptr;
  }
};

/// The elements of a destination of Dataset::read; T must be the C++ type of its field.
template <class T>
std::span<T> elements_of(std::span<std::byte> bytes) {
  return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
}

struct OpenOptions {
  /// T of language sets. Absent: 128 tokens of a running text, the longest of separate texts.
  std::optional<std::int64_t> sequence_length;
  std::optional<Normalization> normalization;  ///< Absent: measured on the set itself ("auto").
  bool normalize_targets = false;              ///< Numbers to predict, by measure_targets().
  /// With normalize_targets: the encoding that the initial weights were trained with. Targets of
  /// the same shape are normalised as there, or not at all if they were not, because the output
  /// layer predicts them in that unit.
  std::optional<Encoding> weights_from{};
  std::vector<std::string> augment;  ///< Steps of Augmentation; images only.
  std::uint64_t seed = 1;            ///< Of augmentation and masking.
  int threads = 1;                   ///< That open() may use if samples are slow to read.
  bool masked = false;  ///< Hide tokens of a running text and predict only those (token_mask.h).
  /// The encoding of the set that a model was trained on. It replaces everything that would be
  /// learned from the set itself, and the options above that it covers.
  std::optional<Encoding> like{};
  std::int64_t window = 0;  ///< See Dataset::window; ?window=N of the name replaces it.
  /// With `like`: a table may lack the columns to predict, and npy: the second file.
  bool unlabelled = false;
};

/// Opens `scheme:path?key=value[begin:end]`:
///   digits:train, digits:test    drawn by Troika itself; ?size=N, ?seed=N
///   idx:DIR, idx:DIR/t10k        MNIST's format, plain or gzip; a folder means its train files,
///                                else its t10k files
///   cifar10:DIR, cifar10:DIR/test, cifar10:FILE.bin
///   npy:images.npy,labels.npy    f32, f64, i32, i64 or u8 (u8 is scaled to [0,1]), C order;
///                                ?channels=last for images [N,H,W,C]; floating labels [N] or
///                                [N,K] are numbers to predict
///   images:DIR                   JPEG and PNG files in a folder per class (image_folder.h);
///                                ?size=N or ?size=HEIGHTxWIDTH, ?channels=1
///   csv:FILE                     comma-separated features and a target, with a header; the target
///                                is the last column or ?target=NAME; ?task=regress|classify
///   tokens:FILE.bin              little-endian uint16; ?vocabulary=N spares the scan for the
///                                largest
///   text:FILE                    UTF-8, one token per character
///   pairs:FILE                   UTF-8 lines of source<tab>target
///   labelled:FILE                UTF-8 lines of label<tab>text; both with ?split=characters and
///                                ?vocabulary=N
/// idx:, npy:, tokens: and text: take ?window=N, for files larger than memory.
/// The range counts samples (images, separate texts) or tokens (a running text). With options.like
/// the set has that very encoding. Throws Error(usage) for a bad name or option, or a set that is
/// not like that one, Error(file) for a bad file.
std::unique_ptr<Dataset> open(std::string_view uri, const OpenOptions& options = {});

/// A set of one sample that is not in a file: a text to classify or to translate. Its target is
/// meaningless. Precondition: `like` is of labelled texts or of pairs.
std::unique_ptr<Dataset> open_prompt(std::string_view text, const Encoding& like);

}  // namespace troika::data
