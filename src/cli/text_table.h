// Columns of text for people.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/units.h"
#include "train/progress.h"

namespace troika::cli {

/// "  name     value", the values below each other; one line each.
std::string format_facts(const std::vector<Fact>& facts);

/// The first row is the header. The columns in `left` are set to the left, the others to the right.
std::string format_rows(const std::vector<std::vector<std::string>>& table,
                        const std::set<std::size_t>& left = {0});

/// "0-3, 5": numbers in their order, neighbours joined. After `most` ranges the text ends with
/// "...".
std::string ranges_text(const std::vector<std::int32_t>& numbers, std::size_t most);
/// Fits into a column.
inline constexpr std::size_t kMostRanges = 8;

/// For JSON and tables in milliseconds.
double milliseconds(SimTime time);
/// "12.345", in milliseconds.
std::string ms_text(SimTime time);
/// 0 of nothing.
double share_of(SimTime part, SimTime whole);
/// A share as "97.3 %".
std::string percent(double share);
/// "97.20 %" or "0.1234", by the measure.
std::string figure_text(const Figure& figure);
/// "test_loss 0.1234", one for each figure.
std::vector<std::string> figures_text(const EvaluationReport& report);
/// "45 s", "3 min 20 s", "2 h 5 min"
std::string duration(double seconds);

}  // namespace troika::cli
