// Token files: little-endian uint16, one after the other, the usual format of GPT-2 data sets.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "data/token_source.h"

namespace troika::data {

/// Without `vocabulary` the file is scanned for its largest token; with it tokens are checked as
/// they are read.
std::unique_ptr<TokenSource> open_tokens(const std::string& path,
                                         std::optional<std::int64_t> vocabulary);

}  // namespace troika::data
