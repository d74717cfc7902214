// Plain text as tokens, one per character.
#pragma once

#include <memory>
#include <string>

#include "data/token_source.h"

namespace troika::data {

/// The vocabulary is that of the whole file, whatever range is used, so that two ranges of one file
/// agree. Throws Error(file) when the file is empty or not UTF-8.
std::unique_ptr<TokenSource> open_text(const std::string& path);

}  // namespace troika::data
