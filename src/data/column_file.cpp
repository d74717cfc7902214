#include "data/column_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/utf8.h"

namespace troika::data {

ColumnFile::ColumnFile(FileBytes file, std::string_view columns) : file_(std::move(file)) {
  if (file_.size() == 0)
    throw file_error(file_.path(), 0, fmt::format("the file is empty; write lines of {}", columns));
  for (std::size_t at = 0; at < file_.size();) {
    begin_.push_back(at);
    at = std::min(text().find('\n', at), file_.size() - 1) + 1;
  }
  // The end of the last line, so that line i is [begin_[i], begin_[i + 1]).
  begin_.push_back(file_.size());
  // All lines are checked at the start, so that a run does not fail after hours.
  for (std::int64_t index = 0; index < size(); ++index) check_row(index, columns);
}

std::string_view ColumnFile::text() const {
  return {reinterpret_cast<const char*>(file_.bytes().data()), file_.size()};
}

std::string_view ColumnFile::line(std::int64_t index) const {
  auto at = static_cast<std::size_t>(index);
  std::string_view line = text().substr(begin_[at], begin_[at + 1] - begin_[at]);
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

void ColumnFile::check_row(std::int64_t index, std::string_view columns) const {
  std::string_view rest = line(index);
  std::size_t tab = rest.find('\t');
  if (tab == std::string_view::npos || tab == 0 || rest.find('\t', tab + 1) != rest.npos)
    throw error_at(index, fmt::format("a line must be {}, with one tab; correct it", columns));
  if (!is_utf8(rest)) throw error_at(index, "the line is not UTF-8; convert the file with iconv");
}

ColumnFile::Row ColumnFile::row(std::int64_t index) const {
  std::string_view whole = line(index);
  std::size_t tab = whole.find('\t');
  if (tab == std::string_view::npos)
    throw error_at(index, "the file changed while it was open; leave it alone during a run");
  return {whole.substr(0, tab), whole.substr(tab + 1)};
}

Error ColumnFile::error_at(std::int64_t index, const std::string& problem) const {
  return {ErrorKind::file, fmt::format("{}:{}: {}", file_.path(), index + 1, problem)};
}

}  // namespace troika::data
