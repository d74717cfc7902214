#include "data/csv_columns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace troika::data {
namespace {

using Names = std::vector<std::string>;

bool has(const Names& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

std::size_t place_of(const CsvReader& reader, const std::string& name, std::string_view why) {
  const Names& header = reader.header();
  auto found = std::ranges::find(header, name);
  if (found == header.end())
    throw reader.row_error(fmt::format("there is no column '{}', {}; the columns are {}", name, why,
                                       fmt::join(header, ", ")));
  return static_cast<std::size_t>(found - header.begin());
}

/// "a+b" names two columns, unless there is a column of that name.
Names stated_targets(const Uri& uri, const Names& header) {
  auto stated = uri.query.find("target");
  if (stated == uri.query.end()) return {};
  if (has(header, stated->second)) return {stated->second};
  Names names;
  for (std::string_view rest = stated->second;;) {
    std::size_t plus = std::min(rest.find('+'), rest.size());
    names.emplace_back(rest.substr(0, plus));
    if (plus == rest.size()) return names;
    rest.remove_prefix(plus + 1);
  }
}

CsvColumns columns_like(const CsvReader& reader, const Uri& uri, const OpenOptions& options) {
  const Encoding& like = *options.like;
  if (like.columns.empty())
    throw Error(ErrorKind::usage,
                "the model was trained on samples without column names; use npy: instead");
  Names stated = stated_targets(uri, reader.header());
  if (!stated.empty() && stated != like.targets)
    throw Error(ErrorKind::usage,
                fmt::format("the model was trained to predict '{}', not '{}'; remove target=",
                            fmt::join(like.targets, "+"), fmt::join(stated, "+")));
  CsvColumns columns;
  // By name: the columns may be in another order than in the training data.
  for (const std::string& name : like.columns)
    columns.features.push_back(place_of(reader, name, "which the model was trained with"));
  // A table with some of the targets is more likely a mistake than one without any.
  bool lacks_all = std::ranges::none_of(
      like.targets, [&](const std::string& name) { return has(reader.header(), name); });
  if (options.unlabelled && lacks_all) return columns;
  for (const std::string& name : like.targets)
    columns.targets.push_back(place_of(reader, name, "which the model predicts"));
  return columns;
}

}  // namespace

CsvColumns choose_columns(const CsvReader& reader, const Uri& uri, const OpenOptions& options) {
  if (options.like) return columns_like(reader, uri, options);
  const Names& header = reader.header();
  Names targets = stated_targets(uri, header);
  if (targets.empty()) targets = {header.back()};
  CsvColumns columns;
  for (const std::string& name : targets) {
    std::size_t place = place_of(reader, name, "which target= names");
    if (std::ranges::count(columns.targets, place) > 0)
      throw Error(ErrorKind::usage, fmt::format("target= names '{}' twice; remove one", name));
    columns.targets.push_back(place);
  }
  for (std::size_t column = 0; column < header.size(); ++column)
    if (std::ranges::count(columns.targets, column) == 0) columns.features.push_back(column);
  if (columns.features.empty())
    throw reader.row_error(fmt::format(
        "there is no column but '{}', which is to be predicted; add columns to predict it from",
        fmt::join(targets, "', '")));
  return columns;
}

Task task_of(const Uri& uri) {
  auto stated = uri.query.find("task");
  if (stated == uri.query.end()) return Task::unstated;
  if (stated->second == "regress") return Task::regress;
  if (stated->second == "classify") return Task::classify;
  throw Error(ErrorKind::usage,
              fmt::format("task must be 'regress' or 'classify', not '{}'", stated->second));
}

}  // namespace troika::data
