#include "cli/prediction_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/text_table.h"

namespace troika::cli {
namespace {

using Json = nlohmann::ordered_json;

/// The calls of a size, as the choice lists them.
TimedGroup group_of(const MemberTeam& team, const CheckedSize& size) {
  TimedGroup group;
  for (const Alternative& alternative : size.choice.alternatives) {
    if (!alternative.time) continue;
    CollectiveCall call = team_call(team, Collective::all_reduce, size.bytes);
    call.segment = alternative.segment;
    group.calls.push_back({call, alternative.algorithm});
  }
  return group;
}

std::string microseconds(double nanoseconds) { return fmt::format("{:.4g}", nanoseconds / 1e3); }

template <class Figure>
double worst(const std::vector<CheckedSize>& checked, Figure figure) {
  double most = 0;
  for (const CheckedSize& size : checked) most = std::max(most, std::invoke(figure, size));
  return most;
}

}  // namespace

std::size_t CheckedSize::place_of(const std::string& algorithm) const {
  auto found = std::ranges::find(choice.alternatives, algorithm, &Alternative::algorithm);
  TROIKA_CHECK(found != choice.alternatives.end(), "an algorithm that was not weighed");
  return static_cast<std::size_t>(found - choice.alternatives.begin());
}

std::size_t CheckedSize::quickest() const {
  std::size_t best = 0;  // the alternatives that declined come last
  for (std::size_t at = 1; at < measured.size(); ++at) {
    // One that declined has 0 here, which is not a time.
    if (choice.alternatives[at].time && measured[at] < measured[best]) best = at;
  }
  return best;
}

double CheckedSize::error() const {
  return std::abs(static_cast<double>(choice.time.count) / measured_of(choice.algorithm) - 1);
}

double CheckedSize::regret() const {
  return measured_of(choice.algorithm) / measured[quickest()] - 1;
}

double CheckedSize::regret_noise() const {
  std::size_t chosen = place_of(choice.algorithm), best = quickest();
  // Both medians may be off, the one upwards and the other downwards.
  return chosen == best ? 0 : (noise[chosen] + noise[best]) / measured[best];
}

double CheckedSize::regret_beyond_noise() const { return std::max(0.0, regret() - regret_noise()); }

std::vector<CheckedSize> check_predictions(const MemberTeam& team, const std::vector<Bytes>& sizes,
                                           const TimingPasses& passes, const LinkCosts& costs) {
  std::vector<CheckedSize> checked;
  std::vector<TimedGroup> groups;
  Bytes longest{};
  for (Bytes bytes : sizes) {
    CollectiveCall call = team_call(team, Collective::all_reduce, bytes);
    checked.push_back(
        {bytes, choose_algorithm(call, kTimedElement, costs, {}, {.offers_mpi = team.has_mpi})});
    groups.push_back(group_of(team, checked.back()));
    longest = std::max(longest, bytes);
  }
  // All sizes in one call, because a team starts its members anew for each.
  team.time(groups, passes, longest);
  for (std::size_t at = 0; at < checked.size(); ++at) {
    checked[at].measured = medians(groups[at]);
    checked[at].noise = noise_of_medians(groups[at]);
    // Alternatives that declined were not timed. The choice lists them last, so padding with 0
    // keeps the others in place.
    checked[at].measured.resize(checked[at].choice.alternatives.size());
    checked[at].noise.resize(checked[at].choice.alternatives.size());
  }
  return checked;
}

std::string format_checked(const std::vector<CheckedSize>& checked) {
  std::vector<std::vector<std::string>> rows{
      {"size", "algorithm", "predicted us", "measured us", "noise", "error", "regret"}};
  for (const CheckedSize& size : checked) {
    for (std::size_t at = 0; at < size.measured.size(); ++at) {
      const Alternative& alternative = size.choice.alternatives[at];
      if (!alternative.time) continue;
      bool chosen = alternative.algorithm == size.choice.algorithm;
      auto predicted = static_cast<double>(alternative.time->count);
      rows.push_back({to_string(size.bytes),
                      (chosen ? "* " : "") + alternative.algorithm +
                          (at == size.quickest() ? ", quickest" : ""),
                      microseconds(predicted), microseconds(size.measured[at]),
                      percent(size.noise[at] / size.measured[at]),
                      percent(predicted / size.measured[at] - 1),
                      chosen ? percent(size.regret()) : ""});
    }
  }
  return format_rows(rows) +
         fmt::format("  chosen (*): error {} at most, regret {} at most, {} beyond the noise\n",
                     percent(worst(checked, &CheckedSize::error)),
                     percent(worst(checked, &CheckedSize::regret)),
                     percent(worst(checked, &CheckedSize::regret_beyond_noise)));
}

std::string to_json_text(const MemberTeam& team, const std::vector<CheckedSize>& checked) {
  Json json{{"op", "allreduce"},
            {"devices", team.members},
            {"link", to_string(team.link)},
            {"worst_error", worst(checked, &CheckedSize::error)},
            {"worst_regret", worst(checked, &CheckedSize::regret)},
            {"worst_regret_beyond_noise", worst(checked, &CheckedSize::regret_beyond_noise)}};
  for (const CheckedSize& size : checked) {
    Json row{{"bytes", size.bytes.count},
             {"algorithm", size.choice.algorithm},
             {"error", size.error()},
             {"regret", size.regret()},
             {"regret_noise", size.regret_noise()}};
    for (std::size_t at = 0; at < size.measured.size(); ++at) {
      const Alternative& alternative = size.choice.alternatives[at];
      if (!alternative.time) continue;
      row["algorithms"].push_back(
          {{"algorithm", alternative.algorithm},
           {"microseconds", size.measured[at] / 1e3},
           {"noise_microseconds", size.noise[at] / 1e3},
           {"predicted_microseconds", static_cast<double>(alternative.time->count) / 1e3},
           {"is_measured", alternative.is_measured}});
    }
    json["sizes"].push_back(row);
  }
  return json.dump();
}

}  // namespace troika::cli
