// Tables of numbers in comma-separated files: one sample per row, features in columns by name, and
// one column with a class or one or more with numbers to predict.
#pragma once

#include <memory>

#include "data/dataset.h"
#include "data/image_source.h"
#include "data/uri.h"

namespace troika::data {

/// csv:FILE?target=NAME&task=regress. The columns to predict are options.like's, those of the query
/// ("a+b" for two) or the last one; all others are features. They are classes when they are words,
/// or are all written as whole numbers, unless the task says otherwise. Parsed once, into floats.
/// With options.like features are taken by their names, and other columns are left aside. Throws
/// Error(usage) when the query does not suit, Error(file) naming line and column when the file does
/// not.
std::unique_ptr<ImageSource> open_csv(const Uri& uri, const OpenOptions& options);

}  // namespace troika::data
