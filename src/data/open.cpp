// The list of schemes: one line here and one file pair make a new format.
#include <fmt/format.h>

#include <utility>

#include "data/cifar10.h"
#include "data/dataset.h"
#include "data/digits.h"
#include "data/idx.h"
#include "data/image_dataset.h"
#include "data/npy.h"
#include "data/sequence_dataset.h"
#include "data/text.h"
#include "data/tokens.h"
#include "data/uri.h"

namespace troika::data {
namespace {

std::unique_ptr<ImageSource> open_images(const Uri& uri) {
  if (uri.scheme == "digits") return open_digits(uri);
  if (uri.scheme == "idx") return open_idx(uri.path);
  if (uri.scheme == "cifar10") return open_cifar10(uri.path);
  if (uri.scheme == "npy") return open_npy(uri);
  return nullptr;
}

std::unique_ptr<TokenSource> open_language(const Uri& uri) {
  if (uri.scheme == "tokens") return open_tokens(uri.path, number_in_query(uri, "vocabulary"));
  if (uri.scheme == "text") return open_text(uri.path);
  return nullptr;
}

void check_keys(const Uri& uri) {
  if (uri.scheme == "digits") return expect_keys(uri, {"size", "seed"});
  if (uri.scheme == "tokens") return expect_keys(uri, {"vocabulary"});
  if (uri.scheme == "npy") return expect_keys(uri, {"channels"});
  if (uri.scheme == "idx" || uri.scheme == "cifar10" || uri.scheme == "text") expect_keys(uri, {});
}

std::unique_ptr<Dataset> open_parsed(const Uri& uri, const OpenOptions& options) {
  check_keys(uri);
  if (uri.scheme != "digits" && uri.path.empty())
    throw Error(ErrorKind::usage,
                fmt::format("there is no path after '{0}:'; write {0}:PATH.", uri.scheme));
  if (auto images = open_images(uri)) {
    Range range = select(uri, images->size());
    return std::make_unique<ImageDataset>(std::move(images), range, options);
  }
  if (auto tokens = open_language(uri)) {
    Range range = select(uri, tokens->size());
    return std::make_unique<SequenceDataset>(std::move(tokens), range, options);
  }
  throw Error(
      ErrorKind::usage,
      fmt::format(
          "unknown scheme '{}'; there are digits:, idx:, cifar10:, npy:, tokens: and text:.",
          uri.scheme));
}

}  // namespace

std::unique_ptr<Dataset> open(std::string_view uri, const OpenOptions& options) try {
  return open_parsed(parse_uri(uri), options);
} catch (const Error& error) {
  throw error.within(fmt::format("data set '{}'", uri));
}

}  // namespace troika::data
