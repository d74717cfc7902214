#include "cli/search_progress.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/text_table.h"

namespace troika::cli {
namespace {

constexpr double kSecondsBetweenLines = 0.2;

}  // namespace

void SearchProgress::listen(PlanSearchOptions& options) {
  shown_ = -1;
  if (console_.can_be_live()) options.report = [this](const SearchStatus& status) { show(status); };
  options.stop_requested = [this] { return signals_.requested(); };
}

void SearchProgress::show(const SearchStatus& status) {
  if (shown_ >= 0 && status.seconds - shown_ < kSecondsBetweenLines && status.seconds >= shown_)
    return;
  shown_ = status.seconds;
  is_live_ = true;
  std::string line =
      fmt::format("searching: {} proposals, {:.0f}/s, best {}", with_commas(status.proposed),
                  static_cast<double>(status.proposed) / std::max(status.seconds, 1e-3),
                  to_string(status.best));
  if (status.data_parallel && status.best.count > 0)
    line +=
        fmt::format(", {:.2f}x data parallel", static_cast<double>(status.data_parallel->count) /
                                                   static_cast<double>(status.best.count));
  if (status.left) line += fmt::format(", {} left", duration(*status.left));
  console_.show_live(line);
}

void SearchProgress::finish() {
  if (is_live_) console_.show_live("");
}

}  // namespace troika::cli
