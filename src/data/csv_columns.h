// Which columns of a table are features and which are to be predicted.
#pragma once

#include <cstddef>
#include <vector>

#include "data/csv_reader.h"
#include "data/dataset.h"
#include "data/uri.h"

namespace troika::data {

/// Positions of columns in the file, in the order of the model.
struct CsvColumns {
  std::vector<std::size_t> features;
  std::vector<std::size_t> targets;  ///< Empty if the table has no target.
};

/// See open_csv. Throws Error(usage) when the query does not suit the model, Error(file) when
/// the table lacks a column.
CsvColumns choose_columns(const CsvReader& reader, const Uri& uri, const OpenOptions& options);

enum class Task { unstated, classify, regress };
/// ?task= of the query. Throws Error(usage) for any other word.
Task task_of(const Uri& uri);

}  // namespace troika::data
