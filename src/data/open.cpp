// The list of schemes: one line here and one file pair make a new format.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "data/cifar10.h"
#include "data/csv.h"
#include "data/dataset.h"
#include "data/digits.h"
#include "data/idx.h"
#include "data/image_dataset.h"
#include "data/image_folder.h"
#include "data/labelled_dataset.h"
#include "data/npy.h"
#include "data/pair_dataset.h"
#include "data/sequence_dataset.h"
#include "data/text.h"
#include "data/tokens.h"
#include "data/uri.h"

namespace troika::data {
namespace {

struct Scheme {
  std::string_view name;
  SampleKind kind;
  std::vector<std::string_view> keys{};
};

const Scheme& find_scheme(const Uri& uri) {
  using enum SampleKind;
  static const std::vector<Scheme> kSchemes{{"digits", images, {"size", "seed"}},
                                            {"idx", images, {"window"}},
                                            {"cifar10", images},
                                            {"npy", images, {"channels", "window"}},
                                            {"images", images, {"size", "channels"}},
                                            {"csv", images, {"target", "task"}},
                                            {"tokens", sequence, {"vocabulary", "window"}},
                                            {"text", sequence, {"window"}},
                                            {"pairs", pairs, {"split", "vocabulary"}},
                                            {"labelled", labelled, {"split", "vocabulary"}}};
  auto found = std::ranges::find(kSchemes, uri.scheme, &Scheme::name);
  if (found != kSchemes.end()) return *found;
  throw Error(
      ErrorKind::usage,
      fmt::format("unknown scheme '{}'; there are digits:, idx:, cifar10:, npy:, csv:, images:, "
                  "tokens:, text:, pairs: and labelled:",
                  uri.scheme));
}

std::unique_ptr<ImageSource> open_images(const Uri& uri, const OpenOptions& options) {
  if (uri.scheme == "digits") return open_digits(uri, options.threads);
  if (uri.scheme == "idx") return open_idx(uri.path);
  if (uri.scheme == "cifar10") return open_cifar10(uri.path);
  if (uri.scheme == "images") return open_image_folder(uri, options);
  if (uri.scheme == "csv") return open_csv(uri, options);
  return open_npy(uri, options);
}

std::unique_ptr<TokenSource> open_language(const Uri& uri, const OpenOptions& options) {
  if (uri.scheme == "tokens") return open_tokens(uri.path, number_in_query(uri, "vocabulary"));
  if (!options.like) return open_text(uri.path);
  if (!options.like->characters)
    throw Error(ErrorKind::usage,
                "the model was trained on samples of token numbers, which have no characters; "
                "give it tokens:FILE");
  return open_text(uri.path, options.like->characters);
}

/// The options with those that options.like determines filled in.
OpenOptions settled(OpenOptions options, SampleKind kind) {
  if (!options.like) return options;
  const Encoding& like = *options.like;
  if (like.kind() != kind)
    throw Error(ErrorKind::usage,
                fmt::format("the model was trained on samples of another kind: {}, not {}",
                            describe(like.kind()), describe(kind)));
  options.masked = like.masked;
  if (like.normalization) options.normalization = like.normalization;
  if (kind == SampleKind::sequence) options.sequence_length = like.find("input")->spec.shape[0];
  return options;
}

void refuse_image_options(const OpenOptions& options) {
  if (!options.augment.empty())
    throw Error(ErrorKind::usage,
                fmt::format("augmentation '{}' is for images; remove it", options.augment[0]));
  if (options.normalization)
    throw Error(ErrorKind::usage, "normalisation is for images and features; remove it");
}

std::unique_ptr<Dataset> open_kind(SampleKind kind, const Uri& uri, const OpenOptions& options) {
  if (kind == SampleKind::images) {
    std::unique_ptr<ImageSource> images = open_images(uri, options);
    Range range = select(uri, images->size());
    return std::make_unique<ImageDataset>(std::move(images), range, options);
  }
  refuse_image_options(options);
  if (kind == SampleKind::pairs)
    return std::make_unique<PairDataset>(FileBytes::map(uri.path), uri, options);
  if (kind == SampleKind::labelled)
    return std::make_unique<LabelledDataset>(FileBytes::map(uri.path), uri, options);
  std::unique_ptr<TokenSource> tokens = open_language(uri, options);
  Range range = select(uri, tokens->size());
  return std::make_unique<SequenceDataset>(std::move(tokens), range, options);
}

std::unique_ptr<Dataset> open_parsed(const Uri& uri, const OpenOptions& options) {
  const Scheme& scheme = find_scheme(uri);
  expect_keys(uri, scheme.keys);
  if (uri.scheme != "digits" && uri.path.empty())
    throw Error(ErrorKind::usage,
                fmt::format("there is no path after '{0}:'; write {0}:PATH", uri.scheme));
  OpenOptions effective = settled(options, scheme.kind);
  if (auto window = number_in_query(uri, "window")) effective.window = *window;
  return open_kind(scheme.kind, uri, effective);
}

}  // namespace

std::unique_ptr<Dataset> open(std::string_view uri, const OpenOptions& options) try {
  return open_parsed(parse_uri(uri), options);
} catch (const Error& error) {
  throw error.within(fmt::format("data set '{}'", uri));
}

std::unique_ptr<Dataset> open_prompt(std::string_view text, const Encoding& like) {
  TROIKA_CHECK(like.words);
  std::string line(text);
  // Tabs and line breaks would end the column or the sample.
  std::ranges::replace_if(
      line, [](char c) { return c == '\t' || c == '\n'; }, ' ');
  OpenOptions options{.like = like};
  if (like.kind() == SampleKind::pairs)
    return std::make_unique<PairDataset>(FileBytes::of_text("the prompt", line + "\t"), Uri{},
                                         options);
  return std::make_unique<LabelledDataset>(
      FileBytes::of_text("the prompt", like.labels.front() + '\t' + line), Uri{}, options);
}

}  // namespace troika::data
