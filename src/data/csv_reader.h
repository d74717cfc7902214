// Comma-separated values (RFC 4180), row by row: quoted cells, CRLF or LF, a UTF-8 byte order mark.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "data/file_bytes.h"

namespace troika::data {

/// A cell as it is in the file, without surrounding quotes and blanks.
struct CsvCell {
  std::string_view text;
  bool has_quotes = false;  ///< The text contains doubled quotes; value() undoes them.

  std::string value() const;
};

/// The text as a cell, in quotes if it needs them.
std::string csv_cell(std::string_view text);

/// Reads a file once, from its header on. Borrows the file; cells point into it.
class CsvReader {
 public:
  /// Throws Error(file) if the file is empty or its first line does not have distinct names of
  /// columns.
  explicit CsvReader(const FileBytes& file);

  const std::vector<std::string>& header() const { return header_; }

  /// Reads the cells of the next row; false after the last one. Empty lines are skipped. Throws
  /// Error(file) if the number of cells differs from the header, or a quote is misplaced.
  bool next(std::vector<CsvCell>& cells);

  /// "PATH:LINE: column 'NAME': problem" for a cell of the row that next() gave last.
  [[nodiscard]] Error cell_error(std::size_t column, const std::string& problem) const;
  /// "PATH:LINE: problem", for the same row.
  [[nodiscard]] Error row_error(const std::string& problem) const;

 private:
  bool read_row(std::vector<CsvCell>& cells);
  CsvCell read_cell();
  CsvCell read_quoted();
  void read_header();
  bool at_line_end() const;
  void skip_line_end();

  const FileBytes& file_;
  std::string_view rest_;
  std::size_t line_ = 1;  // of rest_
  std::size_t row_line_ = 1;
  std::vector<std::string> header_;
};

}  // namespace troika::data
