// How samples become numbers, as JSON: what the index of a checkpoint holds, so that eval and
// predict need no training data.
#pragma once

#include <string>
#include <string_view>

#include "data/encoding.h"

namespace troika {

std::string to_json(const data::Encoding& encoding);
/// Throws Error(file) when the text is not what to_json writes.
data::Encoding parse_encoding(std::string_view json);

}  // namespace troika
