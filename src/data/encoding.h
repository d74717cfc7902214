// How samples become numbers. Learned from the training set and kept in checkpoints, so that other
// sets can be read in the same way.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/normalization.h"
#include "data/vocabulary.h"
#include "data/word_vocabulary.h"
#include "tensor/tensor_spec.h"

namespace troika::data {

/// One named tensor of a sample, without the batch dimension.
struct Field {
  std::string name;
  TensorSpec spec;
  bool operator==(const Field&) const = default;
};

/// The kind of a sample.
enum class SampleKind {
  images,    ///< Pixels or features, and a class or numbers to predict.
  sequence,  ///< A piece of a long sequence of tokens; the targets are tokens too.
  labelled,  ///< A separate text, and a class.
  pairs,     ///< A source text and a target text, such as a translation.
};

struct Encoding {
  std::vector<Field> fields;
  std::int64_t classes = 0;  ///< Targets lie in [0, classes); 0 if they are numbers to predict.
  std::optional<Normalization> normalization{};
  /// For numbers to predict: a mean for each and one deviation for all, so that the loss of
  /// normalised targets is that of the user's, divided by a constant. Absent: they are not
  /// normalised.
  std::optional<Normalization> target_normalization{};
  std::optional<Vocabulary> characters{};        ///< Of a running text.
  std::optional<WordVocabulary> words{};         ///< Of labelled texts, or of the sources of pairs.
  std::optional<WordVocabulary> target_words{};  ///< Of the targets of pairs.
  std::vector<std::string> labels{};  ///< Names of the classes; empty if they are numbers.
  std::vector<std::string>
      columns{};  ///< Names of the features; columns of other tables are matched by name.
  std::vector<std::string> targets{};  ///< Names of the columns that are predicted.
  bool masked = false;  ///< Tokens are hidden in the input; the last token is the mask.

  SampleKind kind() const;
  /// True if the target is f32 [k]: numbers to predict, not a class.
  bool predicts_numbers() const;
  /// Null if there is no such field.
  const Field* find(std::string_view name) const;
  bool operator==(const Encoding&) const = default;
};

/// Throws Error(usage) unless a model that was trained on samples encoded one way can be used on
/// those encoded the other way: the same fields, no class it does not know, the same vocabularies.
void check_fit(const Encoding& trained, const Encoding& given);

/// True if both predict numbers, and equally many. The output layer of a model for one then fits
/// the other, and its numbers keep their unit. An encoding without fields, of an old checkpoint, is
/// assumed to fit.
bool predict_alike(const Encoding& trained, const Encoding& given);

/// "images or features", "a running text", "labelled texts", "pairs of texts"
std::string_view describe(SampleKind kind);

}  // namespace troika::data
