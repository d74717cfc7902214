#include "train/exchange_timelines.h"

#include <fmt/format.h>

#include <sstream>

namespace troika {
namespace {

/// A trace of more ranks than this is more than a viewer, or the ranks' exchange, can take.
constexpr int kMostRanks = 64;

/// A line for each span.
std::string to_text(const Timeline& timeline) {
  std::string text;
  for (const Span& span : timeline.spans)
    text += fmt::format("{} {} {} {} {}\n", span.task.fragment, span.task.index, span.device.value,
                        span.start.count, span.end.count);
  return text;
}

Timeline parse_timeline(const std::string& text) {
  Timeline timeline;
  std::istringstream words(text);
  for (Span span; words >> span.task.fragment >> span.task.index >> span.device.value >>
                  span.start.count >> span.end.count;)
    timeline.spans.push_back(span);
  return timeline;
}

}  // namespace

std::vector<Timeline> exchange_timelines(const LiveModel& live, const std::string& program) {
  Timeline own = live.session().timeline(program);
  Ranks& ranks = *live.setup().ranks;
  if (ranks.count() == 1 || ranks.count() > kMostRanks) return {own};
  std::vector<Timeline> all;
  for (const std::string& text : ranks.exchange(to_text(own))) all.push_back(parse_timeline(text));
  return all;
}

}  // namespace troika
