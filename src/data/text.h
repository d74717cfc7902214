// Plain text as tokens, one per character.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "data/token_source.h"

namespace troika::data {

/// Without `known` the vocabulary is that of the whole file, whatever range is used, so that two
/// ranges of one file agree. Throws Error(file) when the file is empty, not UTF-8, or has a
/// character that is not in `known`.
std::unique_ptr<TokenSource> open_text(const std::string& path,
                                       const std::optional<Vocabulary>& known = {});

}  // namespace troika::data
