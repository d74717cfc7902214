// Columns of text for people.
#pragma once

#include <string>
#include <vector>

#include "base/units.h"
#include "train/progress.h"

namespace troika::cli {

/// "  name     value", the values below each other; one line each.
std::string format_facts(const std::vector<Fact>& facts);

/// The first row is the header. The first column is set to the left, the others to the right.
std::string format_rows(const std::vector<std::vector<std::string>>& table);

/// A share as "97.3 %".
std::string percent(double share);
/// "97.20 %" or "0.1234", by the measure.
std::string figure_text(const Figure& figure);
/// "test_loss 0.1234", one for each figure.
std::vector<std::string> figures_text(const EvaluationReport& report);
/// "45 s", "3 min 20 s", "2 h 5 min"
std::string duration(double seconds);

}  // namespace troika::cli
