// Tables of numbers in comma-separated files: one sample per row, features in columns by name, and
// one column with a class or one or more with numbers to predict.
#pragma once

#include <memory>

#include "data/dataset.h"
#include "data/image_source.h"
#include "data/uri.h"

namespace troika::data {

/// csv:FILE?target=NAME&task=regress. The columns to predict are options.like's, those of the query
/// ("a+b" for two) or the last one; all others are features. Targets are classes if they are words
/// or all whole numbers, unless the task states otherwise. Parsed once, into floats. With
/// options.like features are found by name, and other columns are ignored. Throws Error(usage) for
/// a bad query, Error(file) naming line and column for a bad file.
std::unique_ptr<ImageSource> open_csv(const Uri& uri, const OpenOptions& options);

}  // namespace troika::data
