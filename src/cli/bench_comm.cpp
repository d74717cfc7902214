// `troika bench comm`: how fast devices exchange vectors.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ranges>

#include "base/error.h"
#include "cli/bench_step.h"
#include "cli/checked_option.h"
#include "cli/rank_seat.h"
#include "cli/text_table.h"
#include "cli/verb.h"
#include "comm/heartbeat/watched_rank.h"
#include "cost/choose_algorithm.h"
#include "profile/links.h"
#include "setup/known_links.h"

namespace troika::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr Bytes kElement{4};  // f32

struct BenchCommArguments {
  std::string op = "allreduce";
  int devices = 2;
  std::vector<std::string> bytes{"8", "1KiB", "64KiB", "1MiB", "16MiB"};
  std::string transport = "threads";
  std::string algorithm;  // empty: by cost
  std::string costs;
  std::string timeout;
  int repeats = 21;
  bool explains = false;
  bool json = false;
};

Collective parse_op(const std::string& text) {
  std::string names;
  for (Collective kind : {Collective::all_reduce, Collective::reduce_scatter,
                          Collective::all_gather, Collective::broadcast, Collective::reduce,
                          Collective::all_to_all, Collective::gather, Collective::scatter}) {
    std::string name(to_string(kind)), joined = name;
    std::erase(joined, '_');
    if (text == name || text == joined) return kind;
    names += (names.empty() ? "" : ", ") + joined;
  }
  throw Error(ErrorKind::usage,
              fmt::format("there is no operation '{}' to measure; there are {}", text, names));
}

/// Bytes on the busiest link per byte of the vector, as in nccl-tests (doc/PERFORMANCE.md).
double bus_factor(Collective kind, int devices) {
  double share = static_cast<double>(devices - 1) / devices;
  switch (kind) {
    case Collective::all_reduce:
      return 2 * share;
    case Collective::reduce_scatter:
    case Collective::all_gather:
    case Collective::all_to_all:
    case Collective::gather:
    case Collective::scatter:
      return share;
    case Collective::broadcast:
    case Collective::reduce:
    case Collective::barrier:
      return 1;
  }
  return 1;
}

/// A size and the calls timed for it: the chosen algorithm first, then the alternatives, then the
/// rooflines if there are any.
struct Size {
  Bytes bytes{};
  AlgorithmChoice choice;
  std::size_t rooflines = 0;
};

struct Plan {
  LinkCosts costs;
  std::vector<Size> sizes;
  std::vector<TimedGroup> groups{};  ///< As the sizes.
};

AlgorithmRanges ranges_of(const BenchCommArguments& arguments) {
  if (arguments.algorithm.empty()) return {};
  bool has_sizes = arguments.algorithm.find(':') != std::string::npos;
  return parse_algorithm_ranges(has_sizes ? arguments.algorithm : arguments.algorithm + ":0-max",
                                parse_op(arguments.op));
}

TimedGroup group_of(const BenchCommArguments& arguments, const CollectiveCall& call,
                    const Size& size) {
  TimedGroup group;
  auto add = [&](const std::string& algorithm, std::int64_t segment) {
    CollectiveCall timed = call;
    timed.segment = segment;
    group.calls.push_back({timed, algorithm});
  };
  add(size.choice.algorithm, size.choice.segment);
  for (const Alternative& other : size.choice.alternatives)
    // Timed in the same group and so in turns with the chosen one: a change of the machine's load
    // between two measurements would otherwise look like a difference of algorithms.
    if (arguments.explains && other.time && other.algorithm != size.choice.algorithm)
      add(other.algorithm, other.segment);
  if (size.rooflines > 0) {
    add(std::string(kRoofline), 0);
    add(std::string(kStreamedRoofline), 0);
  }
  return group;
}

Plan plan_trial(const BenchCommArguments& arguments, const MemberTeam& team, LinkCosts costs) {
  Plan plan{.costs = std::move(costs)};
  AlgorithmRanges ranges = ranges_of(arguments);
  Collective kind = parse_op(arguments.op);
  // The rooflines are loops over the vectors of all members, which ranks do not share.
  bool shares_memory = team.link == LinkKind::process;
  for (const std::string& text : arguments.bytes) {
    // Collectives move whole elements.
    Bytes bytes{parse_bytes(text).count / kElement.count * kElement.count};
    CollectiveCall call = team_call(team, kind, bytes);
    Size size{.bytes = bytes,
              .choice = choose_algorithm(call, kElement, plan.costs, ranges,
                                         {.offers_mpi = team.has_mpi}),
              .rooflines = shares_memory && kind == Collective::all_reduce ? 2U : 0U};
    plan.groups.push_back(group_of(arguments, call, size));
    plan.sizes.push_back(std::move(size));
  }
  return plan;
}

struct Row {
  std::string algorithm;
  double microseconds = 0, least = 0, most = 0, bus_gbps = 0, predicted = 0;
  std::optional<double> roofline;
};

double predicted_for(const AlgorithmChoice& choice, const std::string& algorithm) {
  auto found = std::ranges::find(choice.alternatives, algorithm, &Alternative::algorithm);
  return static_cast<double>(found->time->count) / 1e3;
}

/// One per algorithm that was timed, the chosen one first.
std::vector<Row> rows_of(const Size& size, const TimedGroup& group) {
  std::vector<Row> rows;
  std::vector<double> middles = medians(group);
  std::size_t algorithms = group.calls.size() - size.rooflines;
  for (std::size_t at = 0; at < algorithms; ++at) {
    const TimedCall& timed = group.calls[at];
    auto [least, most] = std::ranges::minmax(group.samples[at]);
    Row row{.algorithm = timed.algorithm,
            .microseconds = middles[at] / 1e3,
            .least = least / 1e3,
            .most = most / 1e3,
            .predicted = predicted_for(size.choice, timed.algorithm)};
    // Bytes per microsecond are MB/s, hence the 1e3.
    row.bus_gbps = static_cast<double>(size.bytes.count) *
                   bus_factor(timed.call.kind, timed.call.members) / 1e3 / row.microseconds;
    if (size.rooflines > 0)
      // The faster of ordinary and non-temporal stores is the limit.
      row.roofline = std::ranges::min(std::span(middles).subspan(algorithms)) / 1e3;
    rows.push_back(std::move(row));
  }
  return rows;
}

Json to_json_value(const BenchCommArguments& arguments, const Size& size, const Row& row) {
  Json json{{"op", arguments.op},
            {"devices", arguments.devices},
            {"bytes", size.bytes.count},
            {"algorithm", row.algorithm},
            {"microseconds", row.microseconds},
            {"bus_gbps", row.bus_gbps},
            {"predicted_microseconds", row.predicted},
            {"transport", arguments.transport},
            {"from_microseconds", row.least},
            {"to_microseconds", row.most}};
  if (row.roofline) json["roofline_microseconds"] = *row.roofline;
  return json;
}

std::vector<std::string> cells(const Size& size, const Row& row) {
  return {to_string(size.bytes),
          row.algorithm,
          fmt::format("{:.3g}", row.microseconds),
          fmt::format("{:.3g} to {:.3g}", row.least, row.most),
          fmt::format("{:.2f}", row.bus_gbps),
          fmt::format("{:.3g}", row.predicted),
          row.roofline ? fmt::format("{:.3g}", *row.roofline) : "",
          row.roofline ? percent(*row.roofline / row.microseconds) : ""};
}

void print(const BenchCommArguments& arguments, const Plan& plan, Console& console) {
  std::vector<std::vector<std::string>> table{{"size", "algorithm", "µs", "range µs", "bus GB/s",
                                               "predicted µs", "roofline µs", "of roofline"}};
  for (std::size_t at = 0; at < plan.sizes.size(); ++at) {
    const Size& size = plan.sizes[at];
    std::vector<Row> rows = rows_of(size, plan.groups[at]);
    for (const Row& row : rows) table.push_back(cells(size, row));
    if (!arguments.json) continue;
    Json json = to_json_value(arguments, size, rows.front());
    for (const Row& row : rows | std::views::drop(1))
      json["alternatives"].push_back(to_json_value(arguments, size, row));
    console.print(json.dump());
  }
  if (arguments.json) return;
  console.write(format_rows(table));
  if (!arguments.explains) return;
  console.print(fmt::format("\nlink costs of the prediction: {}", plan.costs.provenance.source));
  for (const Size& size : plan.sizes)
    console.write(fmt::format("\n{}:\n{}", to_string(size.bytes), explain(size.choice)));
}

Plan measure(const BenchCommArguments& arguments, const MemberTeam& team, LinkCosts costs) {
  Plan plan = plan_trial(arguments, team, std::move(costs));
  // One sample of each call per pass: every repeat visits all sizes and algorithms once.
  Bytes longest = std::ranges::max_element(plan.sizes, {}, &Size::bytes)->bytes;
  team.time(plan.groups, {.least = arguments.repeats, .most = arguments.repeats, .samples = 1},
            longest);
  return plan;
}

void run_over_mpi(const BenchCommArguments& arguments, const LinkCosts& costs, Console& console) {
  std::unique_ptr<MpiWorld> world = start_world();
  if (world->ranks() != arguments.devices)
    throw Error(
        ErrorKind::usage,
        fmt::format("{} ranks are running and --devices is {}; start this with mpirun -n {}",
                    world->ranks(), arguments.devices, arguments.devices));
  RankWatch watch = watch_without_folder(world->rank(), arguments.timeout);
  run_watched_rank(*world, watch, [&](Heartbeat& heartbeat) {
    // All ranks take the first one's costs: their hosts may have other files.
    LinkCosts agreed = parse_link_costs(world->exchange(to_json(costs)).front());
    MemberTeam team = rank_team(*world, heartbeat);
    Plan plan = measure(arguments, team, std::move(agreed));
    if (world->rank() == 0) print(arguments, plan, console);
  });
}

/// Reports bad arguments before ranks wait for each other.
void check(const BenchCommArguments& arguments) {
  parse_op(arguments.op);
  ranges_of(arguments);
  for (const std::string& bytes : arguments.bytes) parse_bytes(bytes);
  parse_timeout(arguments.timeout);
}

void run(const BenchCommArguments& arguments, Context& context) {
  check(arguments);
  LinkCosts costs = arguments.costs.empty() ? known_link_costs(default_links_file())
                                            : read_link_costs(arguments.costs);
  if (arguments.transport == "mpi") return run_over_mpi(arguments, costs, context.console);
  Plan plan = measure(arguments, thread_team(arguments.devices, true), std::move(costs));
  print(arguments, plan, context.console);
}

}  // namespace

Verb add_bench_comm(CLI::App& bench, Context& context) {
  auto arguments = std::make_shared<BenchCommArguments>();  // shared by the parser and the verb
  CLI::App* app = bench.add_subcommand("comm", "Time a collective between devices");
  app->add_option("--op", arguments->op, "allreduce, reducescatter, allgather, broadcast, …")
      ->capture_default_str();
  take_whole(app->add_option("--devices", arguments->devices,
                             "Number of threads, or of ranks under mpirun"))
      ->capture_default_str();
  app->add_option("--bytes", arguments->bytes, "Sizes of the vector, such as 8,64KiB,1MiB")
      ->delimiter(',');
  take_word(app->add_option("--transport", arguments->transport, "threads, or mpi under mpirun"),
            {"threads", "mpi"})
      ->capture_default_str();
  app->add_option("--algorithm", arguments->algorithm,
                  "A name, or one per range of sizes such as ring:64KiB-max; default: by cost");
  app->add_option("--costs", arguments->costs,
                  "File of link costs; default: the one that `troika profile --links` wrote");
  take_whole(app->add_option("--repeats", arguments->repeats, "Timed batches per size"))
      ->capture_default_str();
  app->add_option(
      "--timeout", arguments->timeout,
      "Under mpirun: how long a rank may be silent before it counts as lost; default 2s");
  app->add_flag("--explain", arguments->explains,
                "Also time the other algorithms and explain the choice");
  app->add_flag("--json", arguments->json, "Print JSON, one object per size");
  app->footer("Example:\n  troika bench comm --op allreduce --devices 2 --bytes 8,64KiB,1MiB");
  return {app, [arguments, &context] { run(*arguments, context); }};
}

}  // namespace troika::cli
