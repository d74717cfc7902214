// A UTF-8 text with two columns: one sample per line, a tab between the columns.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/file_bytes.h"

namespace troika::data {

/// Rows point into the file, mapped or in memory. Constant after construction.
class ColumnFile {
 public:
  struct Row {
    std::string_view first;
    std::string_view second;
  };

  /// `columns` describes them in messages: "source<tab>target". Throws Error(file), naming
  /// the line, when the file is empty, is not UTF-8, or a line does not have two columns or begins
  /// with the tab.
  ColumnFile(FileBytes file, std::string_view columns);

  std::int64_t size() const { return static_cast<std::int64_t>(begin_.size()) - 1; }
  Row row(std::int64_t index) const;
  /// "PATH:LINE: problem"
  [[nodiscard]] Error error_at(std::int64_t index, const std::string& problem) const;

 private:
  std::string_view text() const;
  std::string_view line(std::int64_t index) const;
  void check_row(std::int64_t index, std::string_view columns) const;

  FileBytes file_;
  std::vector<std::size_t> begin_;  // Start of each line, and the end of the last one.
};

}  // namespace troika::data
