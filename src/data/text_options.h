// Options in the name of a set of separate texts: ?split=characters, ?vocabulary=N.
#pragma once

#include <cstdint>

#include "data/uri.h"
#include "data/word_vocabulary.h"

namespace troika::data {

struct TextOptions {
  TextUnit unit = TextUnit::word;
  std::int64_t vocabulary = 32'000;  ///< Most tokens of a vocabulary, marks included.
};

/// Throws Error(usage) for a bad value.
TextOptions text_options(const Uri& uri);

}  // namespace troika::data
