// Reads and writes the sample encoding (fields, normalisation, vocabularies) as JSON. Checkpoints
// contain it, so that eval and predict need no training data.
#pragma once

#include <string>
#include <string_view>

#include "data/encoding.h"

namespace troika {

std::string to_json(const data::Encoding& encoding);
/// Throws Error(file) if the text was not written by to_json.
data::Encoding parse_encoding(std::string_view json);

}  // namespace troika
