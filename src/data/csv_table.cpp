#include "data/csv_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/number_text.h"
#include "base/utf8.h"

namespace troika::data {
namespace {

std::string shortened(const CsvCell& cell) { return std::string(cell.text.substr(0, 40)); }

float number_in(const CsvReader& reader, const std::vector<CsvCell>& cells, std::size_t column) {
  std::optional<double> number = parse_number<double>(cells[column].text);
  // Values are kept as f32, so a number such as 1e300 is refused instead of becoming infinite.
  auto narrow = static_cast<float>(number.value_or(0));
  if (number && std::isfinite(narrow)) return narrow;
  if (cells[column].text.empty())
    throw reader.cell_error(column, "the cell is empty; fill it in or remove the row");
  throw reader.cell_error(column, fmt::format("'{}' is not a {}; correct it, or remove the column",
                                              shortened(cells[column]),
                                              number ? "finite number of 32 bits" : "number"));
}

}  // namespace

CsvTable::CsvTable(const FileBytes& file, const CsvColumns& columns, TargetForm form,
                   std::vector<std::string> labels)
    : columns_(columns),
      form_(form),
      names_{.labels = std::move(labels)},
      shape_{std::ssize(columns.features)} {
  CsvReader reader(file);
  for (std::size_t column : columns_.features) names_.columns.push_back(reader.header()[column]);
  for (std::size_t column : columns_.targets) names_.targets.push_back(reader.header()[column]);
  Cells cells;
  while (reader.next(cells)) add(reader, cells);
  if (features_.empty())
    throw reader.row_error("there are no rows below the header; add one per sample");
  size_ = std::ssize(features_) / shape_[0];
  // From the names and not from the rows, since a part of the data may lack some classes.
  if (form_ == TargetForm::class_name) classes_ = std::ssize(names_.labels);
}

std::int64_t CsvTable::numbers() const {
  return form_ == TargetForm::numbers ? std::ssize(columns_.targets) : 0;
}

void CsvTable::read_pixels(std::int64_t index, std::span<float> pixels) const {
  std::copy_n(features_.begin() + index * std::ssize(pixels), pixels.size(), pixels.begin());
}

void CsvTable::read_numbers(std::int64_t index, std::span<float> numbers) const {
  std::copy_n(numbers_.begin() + index * std::ssize(numbers), numbers.size(), numbers.begin());
}

std::int32_t CsvTable::label(std::int64_t index) const {
  return classes_of_rows_[static_cast<std::size_t>(index)];
}

void CsvTable::add(const CsvReader& reader, const Cells& cells) {
  for (std::size_t column : columns_.features)
    features_.push_back(number_in(reader, cells, column));
  for (std::size_t column : columns_.targets) {
    if (form_ == TargetForm::numbers)
      numbers_.push_back(number_in(reader, cells, column));
    else
      classes_of_rows_.push_back(class_in(reader, cells, column));
  }
}

std::int32_t CsvTable::class_in(const CsvReader& reader, const Cells& cells, std::size_t column) {
  if (form_ == TargetForm::class_name) return named_class(reader, cells, column);
  std::optional<std::int64_t> number = parse_number<std::int64_t>(cells[column].text);
  if (!number || *number < 0 || *number >= kMaxClasses)
    throw reader.cell_error(
        column, fmt::format("'{}' is not a class number from 0 to {}; correct it, or add "
                            "?task=regress to the name of the data set to predict numbers",
                            shortened(cells[column]), kMaxClasses - 1));
  classes_ = std::max(classes_, *number + 1);
  return static_cast<std::int32_t>(*number);
}

std::int32_t CsvTable::named_class(const CsvReader& reader, const Cells& cells,
                                   std::size_t column) const {
  std::string name = cells[column].value();
  if (!is_utf8(name))
    throw reader.cell_error(column, "the class is not UTF-8; convert the file with iconv");
  if (name.empty())
    throw reader.cell_error(column, "the cell is empty; fill it in or remove the row");
  auto found = std::ranges::lower_bound(names_.labels, name);
  if (found == names_.labels.end() || *found != name)
    throw reader.cell_error(column, fmt::format("the class '{}' is not known; the model knows {}",
                                                name, fmt::join(names_.labels, ", ")));
  return static_cast<std::int32_t>(found - names_.labels.begin());
}

}  // namespace troika::data
