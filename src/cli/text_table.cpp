#include "cli/text_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/printable.h"

namespace troika::cli {

namespace {

/// A line feed in a name that comes from a file must not start a new row.
std::vector<std::vector<std::string>> in_one_line(std::vector<std::vector<std::string>> rows) {
  for (auto& row : rows)
    for (std::string& cell : row) cell = printable(cell, Lines::one);
  return rows;
}

/// Columns of the terminal, by which fmt pads: a letter of several bytes may be one column wide.
std::size_t columns_of(const std::string& text) {
  return 2 * text.size() - fmt::formatted_size("{:<{}}", text, text.size());
}

}  // namespace

std::string format_facts(const std::vector<Fact>& facts) {
  std::size_t width = 0;
  for (const Fact& fact : facts)
    width = std::max(width, columns_of(printable(fact.name, Lines::one)));
  std::string text;
  for (const Fact& fact : facts)
    text += fmt::format("  {:<{}}  {}\n", printable(fact.name, Lines::one), width,
                        printable(fact.value, Lines::one));
  return text;
}

std::string format_rows(const std::vector<std::vector<std::string>>& table,
                        const std::set<std::size_t>& left) {
  std::vector<std::vector<std::string>> rows = in_one_line(table);
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t at = 0; at < row.size(); ++at)
      widths[at] = std::max(widths[at], columns_of(row[at]));
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t at = 0; at < row.size(); ++at)
      line += left.contains(at) ? fmt::format("  {:<{}}", row[at], widths[at])
                                : fmt::format("  {:>{}}", row[at], widths[at]);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string ranges_text(const std::vector<std::int32_t>& numbers, std::size_t most) {
  std::vector<std::string> ranges;
  for (std::size_t at = 0; at < numbers.size() && ranges.size() <= most;) {
    std::size_t end = at + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    ranges.push_back(end == at + 1 ? std::to_string(numbers[at])
                                   : fmt::format("{}-{}", numbers[at], numbers[end - 1]));
    at = end;
  }
  if (ranges.size() > most) ranges.back() = "...";
  return fmt::format("{}", fmt::join(ranges, ", "));
}

double share_of(SimTime part, SimTime whole) {
  return whole.count > 0 ? static_cast<double>(part.count) / static_cast<double>(whole.count) : 0;
}

double milliseconds(SimTime time) { return static_cast<double>(time.count) / 1e6; }

std::string ms_text(SimTime time) { return fmt::format("{:.3f}", milliseconds(time)); }

std::string percent(double share) { return fmt::format("{:.2f} %", share * 100); }

std::string figure_text(const Figure& figure) {
  return is_higher_better(figure.measure) ? percent(figure.value)
                                          : fmt::format("{:.4f}", figure.value);
}

std::vector<std::string> figures_text(const EvaluationReport& report) {
  std::vector<std::string> texts;
  for (const Figure& figure : report.figures)
    texts.push_back(
        fmt::format("{} {}", to_word(Metric{report.set, figure.measure}), figure_text(figure)));
  return texts;
}

std::string duration(double seconds) {
  if (!std::isfinite(seconds)) return "unknown";
  if (seconds < 10) return fmt::format("{:.1f} s", seconds);
  auto whole = std::llround(seconds);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

}  // namespace troika::cli
