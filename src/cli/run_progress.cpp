#include "cli/run_progress.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/text_table.h"

namespace troika::cli {
namespace {

// Ten times a second looks steady, and steps of a millisecond do not flood the terminal.
constexpr std::chrono::milliseconds kLiveLineInterval{100};

/// Four digits, whatever the size.
std::string count_rate_text(double per_second) {
  return per_second >= 1000 ? with_commas(static_cast<std::int64_t>(per_second))
                            : fmt::format("{:.4g}", per_second);
}

}  // namespace

std::string step_line(const StepReport& report) {
  double left = static_cast<double>(report.total_steps - report.step) * report.step_ms / 1e3;
  std::string line = fmt::format("step {}/{}  epoch {:.2f}  loss {:.4f}", report.step,
                                 report.total_steps, report.epoch, report.loss);
  for (const auto& [name, loss] : report.more) line += fmt::format("  {} loss {:.4f}", name, loss);
  line += fmt::format("  {} samples/s  ETA {}  data wait {:.0f} %",
                      count_rate_text(report.samples_per_second), duration(left),
                      report.data_wait * 100);
  if (report.communication_wait > 0)
    line += fmt::format("  comm wait {:.0f} %", report.communication_wait * 100);
  return line;
}

std::string live_line(const StepReport& report, std::size_t width) {
  double left = static_cast<double>(report.total_steps - report.step) * report.step_ms / 1e3;
  // In the order shown. If the line is too long, the part with the highest number is dropped first.
  struct Part {
    std::string text;
    int drop_order;
  };
  std::vector<Part> parts{
      {fmt::format("step {}/{}", report.step, report.total_steps), 0},
      {fmt::format("epoch {:.2f}", report.epoch), 5},
      {fmt::format("loss {:.4f}", report.loss), 1},
      {fmt::format("{} samples/s", count_rate_text(report.samples_per_second)), 4},
      {fmt::format("ETA {}", duration(left)), 3},
      {fmt::format("waits: comm {:.0f}% data {:.0f}%", report.communication_wait * 100,
                   report.data_wait * 100),
       2}};
  for (const auto& [name, loss] : report.more)
    parts.insert(parts.begin() + 3, {fmt::format("{} {:.4f}", name, loss), 6});
  auto joined = [&] {
    std::string line;
    for (const Part& part : parts) line += (line.empty() ? "" : "  ") + part.text;
    return line;
  };
  std::string line = joined();
  while (line.size() > width && parts.size() > 1) {
    parts.erase(std::ranges::max_element(parts, {}, &Part::drop_order));
    line = joined();
  }
  return line;
}

std::string evaluation_line(const EvaluationReport& report) {
  return fmt::format("step {}  epoch {:.2f}  {}", report.step, report.epoch,
                     fmt::join(figures_text(report), "  "));
}

void RunProgress::log(LogLevel level, const std::string& line) {
  if (log_ != nullptr) log_->write(level, line);
}

void RunProgress::begin(const std::vector<Fact>& facts) {
  console_.say(format_facts(facts));
  for (const Fact& fact : facts) log(LogLevel::info, fact.name + ": " + fact.value);
}

void RunProgress::step(const StepReport& report) {
  std::string line = step_line(report);
  log(LogLevel::info, line);
  if (console_.can_be_live())
    show_live(report);
  else
    console_.say(line);
}

void RunProgress::moved(const StepReport& report) {
  if (!console_.can_be_live() || now_() - shown_ < kLiveLineInterval) return;
  show_live(report);
}

void RunProgress::show_live(const StepReport& report) {
  console_.show_live(
      live_line(report, static_cast<std::size_t>(std::max(console_.width() - 1, 1))));
  shown_ = now_();
}

void RunProgress::evaluated(const EvaluationReport& report) {
  std::string line = evaluation_line(report);
  log(LogLevel::info, line);
  console_.say(line);
}

void RunProgress::saved(const std::string& folder) { log(LogLevel::info, "saved " + folder); }

void RunProgress::note(const std::string& sentence) {
  log(LogLevel::info, sentence);
  console_.say(sentence);
}

void RunProgress::warn(const std::string& sentence) {
  log(LogLevel::warning, sentence);
  console_.warn(sentence);
}

}  // namespace troika::cli
