#include "cli/profile_links.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/durable_file.h"
#include "base/error.h"
#include "cli/prediction_check.h"
#include "cli/rank_seat.h"
#include "cli/text_table.h"
#include "cli/version.h"
#include "comm/heartbeat/watched_rank.h"
#include "profile/fit_links.h"
#include "setup/known_links.h"

namespace troika::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

const std::vector<std::string> kBytesOfCheck{"8",      "100",  "1KiB", "6KiB",  "16KiB", "64KiB",
                                             "400KiB", "1MiB", "4MiB", "16MiB", "64MiB"};

fs::path file_of(const LinksRequest& request) {
  fs::path file = request.out.empty() ? default_links_file() : fs::path(request.out);
  if (file.empty())
    throw Error(ErrorKind::usage, "there is no home folder for links.json; name a file with --out");
  return file;
}

std::string method_of(const MemberTeam& team, const MpiWorld* world) {
  std::string way = world == nullptr ? "threads of one process" : "ranks of " + world->library();
  return fmt::format("{} {}", team.members, way);
}

std::string today() {
  std::time_t now = std::time(nullptr);
  return fmt::format("{:%Y-%m-%d}", fmt::gmtime(now));
}

void measure(LinkCosts& costs, const std::vector<MemberTeam>& teams, const LinksRequest& request,
             const MpiWorld* world) {
  std::string teams_text;
  for (const MemberTeam& team : teams) {
    TimingPasses passes{.most = 50, .seconds = request.seconds / static_cast<double>(teams.size())};
    take_measured(costs, measure_algorithms(team, {}, passes));
    teams_text += (teams_text.empty() ? "" : " and ") + method_of(team, world);
  }
  // All teams of a call have the same link: threads of this process, or the ranks.
  costs[teams.front().link].origin = fmt::format("measured on {} between {}{}", today(), teams_text,
                                                 request.pins ? ", pinned to cores" : "");
  costs.provenance = {.source = "measured",
                      .machine = machine_of_links(),
                      .date = today(),
                      .method = fmt::format(
                          "troika profile --links of Troika {}: f32, medians of batches in turns; "
                          "links without an origin of their own are assumed",
                          kVersion)};
}

std::vector<std::string> cells(LinkKind kind, const LinkCost& link) {
  auto rate = [](double cost) {
    return cost > 0 ? fmt::format("{:.2f} GB/s", 1 / cost) : std::string("free");
  };
  return {std::string(to_string(kind)), fmt::format("{:.0f} ns", link.alpha), rate(link.beta),
          rate(link.gamma), link.origin.empty() ? "assumed" : link.origin};
}

void print(const LinkCosts& costs, const fs::path& file, Console& console) {
  std::vector<std::vector<std::string>> rows{{"link", "alpha", "1/beta", "1/gamma", "origin"}};
  for (LinkKind kind : {LinkKind::process, LinkKind::node, LinkKind::network})
    rows.push_back(cells(kind, costs[kind]));
  console.write(format_rows(rows));
  console.print(
      fmt::format("\nMeasured {} algorithms; written to {}", costs.measured.size(), file.string()));
}

std::vector<MemberTeam> thread_teams(const LinksRequest& request) {
  std::vector<MemberTeam> teams;
  for (int members : request.devices) teams.push_back(thread_team(members, request.pins));
  return teams;
}

/// The known costs. Ranks take those of the first rank, so that all run the same algorithms in the
/// same order.
LinkCosts agreed_costs(const LinksRequest& request, MpiWorld* world) {
  LinkCosts costs = known_link_costs(file_of(request));
  return world == nullptr ? costs : parse_link_costs(world->exchange(to_json(costs)).front());
}

void check(const LinksRequest& request, const std::vector<MemberTeam>& teams, MpiWorld* world,
           Console& console) {
  LinkCosts costs = agreed_costs(request, world);
  bool prints = world == nullptr || world->rank() == 0;
  std::vector<Bytes> sizes;
  for (const std::string& text : request.bytes.empty() ? kBytesOfCheck : request.bytes)
    sizes.push_back({parse_bytes(text).count / 4 * 4});
  for (const MemberTeam& team : teams) {
    TimingPasses passes{
        .least = 5, .most = 50, .seconds = request.seconds / static_cast<double>(teams.size())};
    std::vector<CheckedSize> checked = check_predictions(team, sizes, passes, costs);
    if (!prints) continue;
    if (request.json)
      console.print(to_json_text(team, checked));
    else
      console.write(fmt::format("all_reduce among {} over {} links that are {}\n{}\n", team.members,
                                to_string(team.link), costs.provenance.source,
                                format_checked(checked)));
  }
}

void measure_or_check(const LinksRequest& request, const std::vector<MemberTeam>& teams,
                      MpiWorld* world, Console& console) {
  if (request.checks) return check(request, teams, world, console);
  fs::path file = file_of(request);
  // Links that this call does not measure keep their costs.
  LinkCosts costs = known_link_costs(file);
  measure(costs, teams, request, world);
  // All ranks take part in the measurement, but the file is written once.
  if (world != nullptr && world->rank() != 0) return;
  if (file.has_parent_path()) make_folder(file.parent_path());
  replace_file(file, to_json(costs));
  if (request.json) return console.write(to_json(costs));
  print(costs, file, console);
}

}  // namespace

void profile_links(const LinksRequest& request, Console& console) {
  file_of(request);  // throws before anything is measured
  parse_timeout(request.timeout);
  if (!runs_under_mpirun()) refuse_lone_tasks(read_slurm_step(), 1);
  if (!runs_under_mpirun())
    return measure_or_check(request, thread_teams(request), nullptr, console);
  std::unique_ptr<MpiWorld> world = start_world();
  if (world->ranks() < 2)
    throw Error(ErrorKind::usage, "one rank has no link to measure; start it with mpirun -n 2");
  RankWatch watch = watch_without_folder(world->rank(), request.timeout);
  run_watched_rank(*world, watch, [&](Heartbeat& heartbeat) {
    MemberTeam team = rank_team(*world, heartbeat);
    measure_or_check(request, {team}, world.get(), console);
  });
}

}  // namespace troika::cli
