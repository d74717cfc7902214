#include "data/csv_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/number_text.h"
#include "base/utf8.h"

namespace troika::data {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

std::string_view trimmed(std::string_view text) {
  std::size_t first = std::min(text.find_first_not_of(" \t"), text.size());
  text.remove_prefix(first);
  return text.substr(0, text.find_last_not_of(" \t") + 1);
}

}  // namespace

std::string CsvCell::value() const {
  std::string value(text);
  if (!has_quotes) return value;
  for (std::size_t at = 0; (at = value.find("\"\"", at)) != std::string::npos; ++at)
    value.erase(at, 1);
  return value;
}

std::string csv_cell(std::string_view text) {
  bool is_plain = text.find_first_of(",\"\r\n") == std::string_view::npos && trimmed(text) == text;
  if (is_plain) return std::string(text);
  std::string quoted = "\"";
  for (char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

CsvReader::CsvReader(const FileBytes& file)
    : file_(file), rest_(reinterpret_cast<const char*>(file.bytes().data()), file.size()) {
  if (rest_.starts_with(kByteOrderMark)) rest_.remove_prefix(kByteOrderMark.size());
  read_header();
}

void CsvReader::read_header() {
  std::vector<CsvCell> cells;
  if (!read_row(cells))
    throw row_error("the file is empty; its first line names the columns, the others are samples");
  std::set<std::string> seen;
  for (const CsvCell& cell : cells) {
    std::string name = cell.value();
    std::size_t column = header_.size() + 1;
    if (name.empty())
      throw row_error(
          fmt::format("column {} has no name; give it one, or write the file without "
                      "it (pandas: to_csv with index=False)",
                      column));
    if (!is_utf8(name))
      throw row_error(
          fmt::format("the name of column {} is not UTF-8; convert the file with iconv", column));
    if (!seen.insert(name).second)
      throw row_error(fmt::format("two columns are called '{}'; rename one", name));
    header_.push_back(name);
  }
  // A file without a header would silently lose its first sample.
  if (std::ranges::all_of(header_,
                          [](const auto& name) { return parse_number<double>(name).has_value(); }))
    throw row_error("the first line must name the columns, but it has numbers; add a header");
}

bool CsvReader::next(std::vector<CsvCell>& cells) {
  if (!read_row(cells)) return false;
  if (cells.size() != header_.size())
    throw row_error(fmt::format("the row has {} cells, but the header names {} columns; correct it",
                                cells.size(), header_.size()));
  return true;
}

bool CsvReader::read_row(std::vector<CsvCell>& cells) {
  cells.clear();
  // Empty lines are skipped, also those at the end of the file.
  while (!rest_.empty() && at_line_end()) skip_line_end();
  // A row may span lines, and messages name the one where it begins.
  row_line_ = line_;
  if (rest_.empty()) return false;
  while (true) {
    cells.push_back(read_cell());
    if (!rest_.starts_with(',')) break;
    rest_.remove_prefix(1);
  }
  skip_line_end();
  return true;
}

CsvCell CsvReader::read_cell() {
  // Blanks around cells and quotes do not count, unlike in RFC 4180.
  std::size_t blanks = std::min(rest_.find_first_not_of(" \t"), rest_.size());
  if (rest_.substr(blanks).starts_with('"')) {
    rest_.remove_prefix(blanks + 1);
    return read_quoted();
  }
  std::size_t end = std::min(rest_.find_first_of(",\n"), rest_.size());
  std::string_view text = rest_.substr(0, end);
  rest_.remove_prefix(end);
  // The end of a line may be CR LF.
  if (text.ends_with('\r') && !rest_.starts_with(',')) text.remove_suffix(1);
  if (text.find('"') != std::string_view::npos)
    throw row_error(
        fmt::format("a quote inside of {}; put quotes around the whole cell and write "
                    "it twice",
                    text.substr(0, 40)));
  return {trimmed(text)};
}

CsvCell CsvReader::read_quoted() {
  CsvCell cell;
  std::size_t end = 0;
  while (true) {
    end = rest_.find('"', end);
    if (end == std::string_view::npos)
      throw row_error("a quote is not closed; close it, or write it twice inside of a quoted cell");
    // Two quotes are one quote of the text. CsvCell::value() undoes it, so that cells that need no
    // change stay views of the file.
    if (!rest_.substr(end + 1).starts_with('"')) break;
    cell.has_quotes = true;
    end += 2;
  }
  cell.text = rest_.substr(0, end);
  line_ += static_cast<std::size_t>(std::ranges::count(cell.text, '\n'));
  rest_.remove_prefix(end + 1);
  rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t"), rest_.size()));
  if (!rest_.empty() && !rest_.starts_with(',') && !at_line_end())
    throw row_error("there is text after a closing quote; correct the row");
  return cell;
}

bool CsvReader::at_line_end() const { return rest_.starts_with('\n') || rest_.starts_with("\r\n"); }

void CsvReader::skip_line_end() {
  if (rest_.empty()) return;
  rest_.remove_prefix(rest_.starts_with('\r') ? 2 : 1);
  ++line_;
}

Error CsvReader::row_error(const std::string& problem) const {
  return {ErrorKind::file, fmt::format("{}:{}: {}", file_.path(), row_line_, problem)};
}

Error CsvReader::cell_error(std::size_t column, const std::string& problem) const {
  return row_error(fmt::format("column '{}': {}", header_[column], problem));
}

}  // namespace troika::data
