#include "data/encoding.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace troika::data {

const Field* Encoding::find(std::string_view name) const {
  auto found = std::ranges::find(fields, name, &Field::name);
  return found == fields.end() ? nullptr : &*found;
}

SampleKind Encoding::kind() const {
  if (target_words) return SampleKind::pairs;
  if (words) return SampleKind::labelled;
  const Field* input = find("input");
  // Only texts have whole numbers as inputs: images and features are always f32.
  bool counts = input != nullptr && input->spec.dtype == DType::i32;
  return counts ? SampleKind::sequence : SampleKind::images;
}

bool Encoding::predicts_numbers() const {
  const Field* target = find("target");
  return target != nullptr && target->spec.dtype == DType::f32;
}

void check_fit(const Encoding& trained, const Encoding& given) {
  for (std::size_t at = 0; at < trained.fields.size(); ++at) {
    if (at < given.fields.size() && given.fields[at] == trained.fields[at]) continue;
    throw Error(ErrorKind::usage,
                fmt::format("the model was trained on samples with '{}' {}, but these have {}",
                            trained.fields[at].name, to_string(trained.fields[at].spec),
                            at < given.fields.size() ? to_string(given.fields[at].spec) : "none"));
  }
  // Fewer classes are fine: a small set may lack some.
  if (given.classes > trained.classes)
    throw Error(ErrorKind::usage, fmt::format("the samples have {} classes, but the model knows {}",
                                              given.classes, trained.classes));
  // Token files have no characters, so a vocabulary on one side only is not a difference.
  bool other_characters =
      trained.characters && given.characters && *trained.characters != *given.characters;
  if (other_characters || trained.words != given.words ||
      trained.target_words != given.target_words || trained.labels != given.labels)
    throw Error(ErrorKind::usage,
                "the samples use a different vocabulary from the training data; open them with "
                "its encoding");
}

bool predict_alike(const Encoding& trained, const Encoding& given) {
  if (!given.predicts_numbers()) return false;
  return trained.fields.empty() ||
         (trained.find("target") != nullptr && *trained.find("target") == *given.find("target"));
}

std::string_view describe(SampleKind kind) {
  switch (kind) {
    case SampleKind::images:
      return "images or features";
    case SampleKind::sequence:
      return "a running text";
    case SampleKind::labelled:
      return "labelled texts";
    case SampleKind::pairs:
      return "pairs of texts";
  }
  return {};
}

}  // namespace troika::data
