// The rows of a comma-separated file as numbers in memory.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/csv_columns.h"
#include "data/csv_reader.h"
#include "data/image_source.h"

namespace troika::data {

/// How the column to predict is read.
enum class TargetForm {
  numbers,       ///< Numbers to predict.
  class_number,  ///< Classes by number.
  class_name,    ///< Classes by name.
};

/// Parsed once, on construction.
class CsvTable final : public ImageSource {
 public:
  /// `labels`, sorted, are the classes by name. Throws Error(file) naming line and column of a cell
  /// that is not a number, or not a class.
  CsvTable(const FileBytes& file, const CsvColumns& columns, TargetForm form,
           std::vector<std::string> labels);

  std::int64_t size() const override { return size_; }
  const Shape& shape() const override { return shape_; }
  std::int64_t classes() const override { return classes_; }
  bool has_targets() const override { return !columns_.targets.empty(); }
  SourceNames names() const override { return names_; }
  std::int64_t numbers() const override;
  void read_pixels(std::int64_t index, std::span<float> pixels) const override;
  void read_numbers(std::int64_t index, std::span<float> numbers) const override;
  std::int32_t label(std::int64_t index) const override;

 private:
  using Cells = std::vector<CsvCell>;
  void add(const CsvReader& reader, const Cells& cells);
  std::int32_t class_in(const CsvReader& reader, const Cells& cells, std::size_t column);
  std::int32_t named_class(const CsvReader& reader, const Cells& cells, std::size_t column) const;

  CsvColumns columns_;
  TargetForm form_;
  SourceNames names_;
  Shape shape_;
  std::int64_t size_ = 0;
  std::int64_t classes_ = 0;
  std::vector<float> features_;
  std::vector<float> numbers_;
  std::vector<std::int32_t> classes_of_rows_;
};

}  // namespace troika::data
