#include "cli/bench_comm.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "cli/bench_step.h"
#include "cli/comm_trial.h"
#include "cli/text_table.h"
#include "collective/algorithms.h"
#include "comm/mpi/mpi_world.h"
#include "cost/choose_algorithm.h"
#include "cost/predict_time.h"
#include "train/known_links.h"

namespace troika::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr Bytes kElement{4};  // f32

struct Arguments {
  std::string op = "allreduce";
  int devices = 2;
  std::vector<std::string> bytes{"8", "1KiB", "64KiB", "1MiB", "16MiB"};
  std::string transport = "threads";
  std::string algorithm;  // empty: by cost
  std::string costs;
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

/// Bytes on the busiest link per byte of the vector, as nccl-tests count them.
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

CollectiveCall call_of(const Arguments& arguments, Bytes bytes) {
  CollectiveCall call =
      equal_parts(parse_op(arguments.op), arguments.devices, bytes.count / kElement.count);
  if (arguments.transport == "mpi")  // one device per process, on one node
    for (int device = 0; device < arguments.devices; ++device) call.processes.push_back(device);
  return call;
}

/// A size with everything that is timed for it: the chosen algorithm first.
struct Size {
  Bytes bytes{};
  AlgorithmChoice choice;
  std::size_t first = 0, cases = 0;  // in the trial
};

struct Plan {
  LinkCosts costs;
  std::vector<Size> sizes;
  CommTrial trial;
};

void add_case(Plan& plan, CollectiveCall call, Bytes bytes, const std::string& algorithm,
              std::int64_t segment) {
  call.segment = segment;
  plan.trial.cases.push_back({bytes, algorithm, make_recipe(call, algorithm)});
}

Plan plan_trial(const Arguments& arguments, LinkCosts costs) {
  Plan plan{.costs = std::move(costs)};
  plan.trial.repeats = arguments.repeats;
  AlgorithmRanges ranges;
  if (!arguments.algorithm.empty()) {
    bool has_sizes = arguments.algorithm.find(':') != std::string::npos;
    ranges = parse_algorithm_ranges(
        has_sizes ? arguments.algorithm : arguments.algorithm + ":0-max", parse_op(arguments.op));
  }
  for (const std::string& text : arguments.bytes) {
    Bytes bytes{parse_bytes(text).count / kElement.count * kElement.count};
    CollectiveCall call = call_of(arguments, bytes);
    Size size{bytes, choose_algorithm(call, kElement, plan.costs, ranges), plan.trial.cases.size()};
    add_case(plan, call, bytes, size.choice.algorithm, size.choice.segment);
    for (const Alternative& other : size.choice.alternatives)
      if (arguments.explains && other.time && other.algorithm != size.choice.algorithm)
        add_case(plan, call, bytes, other.algorithm, other.segment);
    size.cases = plan.trial.cases.size() - size.first;
    plan.sizes.push_back(std::move(size));
  }
  return plan;
}

struct Row {
  std::string algorithm;
  double microseconds = 0, least = 0, most = 0, bus_gbps = 0, predicted = 0;
  std::optional<double> roofline;
};

Row row_of(const Plan& plan, const CommTrialResult& result, std::size_t at) {
  const CommCase& timed = plan.trial.cases[at];
  const CollectiveCall& call = timed.recipe.call;
  auto [least, most] = std::ranges::minmax(result.cases[at].repeats);
  Row row{.algorithm = timed.algorithm,
          .microseconds = median(result.cases[at].repeats),
          .least = least,
          .most = most,
          .predicted = static_cast<double>(
                           predict_time(call, timed.algorithm, kElement, plan.costs).time.count) /
                       1e3};
  row.bus_gbps = static_cast<double>(timed.bytes.count) * bus_factor(call.kind, call.members) /
                 1e3 / row.microseconds;
  if (!result.rooflines.empty()) row.roofline = median(result.rooflines[at].repeats);
  return row;
}

Json to_json_value(const Arguments& arguments, const Size& size, const Row& row) {
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

void print(const Arguments& arguments, const Plan& plan, const CommTrialResult& result,
           Console& console) {
  std::vector<std::vector<std::string>> rows{{"size", "algorithm", "µs", "from to", "bus GB/s",
                                              "predicted µs", "roofline µs", "of roofline"}};
  for (const Size& size : plan.sizes) {
    for (std::size_t at = size.first; at < size.first + size.cases; ++at) {
      Row row = row_of(plan, result, at);
      if (arguments.json && at == size.first) {
        Json json = to_json_value(arguments, size, row);
        for (std::size_t other = at + 1; other < size.first + size.cases; ++other)
          json["alternatives"].push_back(
              to_json_value(arguments, size, row_of(plan, result, other)));
        console.print(json.dump());
      }
      rows.push_back(cells(size, row));
    }
  }
  if (arguments.json) return;
  console.write(format_rows(rows));
  if (!arguments.explains) return;
  console.print(
      fmt::format("\nPredicted with link costs that are {}.", plan.costs.provenance.source));
  for (const Size& size : plan.sizes)
    console.write(fmt::format("\n{}:\n{}", to_string(size.bytes), explain(size.choice)));
}

void run(const Arguments& arguments, Context& context) {
  LinkCosts costs = arguments.costs.empty() ? known_link_costs(default_links_file())
                                            : read_link_costs(arguments.costs);
  if (arguments.transport == "threads") {
    Plan plan = plan_trial(arguments, std::move(costs));
    return print(arguments, plan, time_on_threads(plan.trial), context.console);
  }
  std::unique_ptr<MpiWorld> world = start_mpi();
  if (world->ranks() != arguments.devices)
    throw Error(
        ErrorKind::usage,
        fmt::format("{} ranks are running and --devices is {}; start this with mpirun -n {}",
                    world->ranks(), arguments.devices, arguments.devices));
  // The first rank's, so that all choose alike whatever files their hosts have.
  Plan plan = plan_trial(arguments, parse_link_costs(world->exchange(to_json(costs)).front()));
  std::vector<int> rank_of_device;
  for (int rank = 0; rank < world->ranks(); ++rank) rank_of_device.push_back(rank);
  std::unique_ptr<Transport> transport = world->make_transport(rank_of_device, {});
  CommTrialResult result = time_over(*transport, world->rank(), plan.trial);
  if (world->rank() == 0) print(arguments, plan, result, context.console);
}

}  // namespace

Verb add_bench_comm(CLI::App& bench, Context& context) {
  auto arguments = std::make_shared<Arguments>();  // shared by the parser and the verb
  CLI::App* app = bench.add_subcommand("comm", "Time a collective between devices");
  app->add_option("--op", arguments->op, "allreduce, reducescatter, allgather, broadcast, …")
      ->capture_default_str();
  app->add_option("--devices", arguments->devices, "Threads of this process, or ranks of MPI")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app->add_option("--bytes", arguments->bytes, "Sizes of the vector, such as 8,64KiB,1MiB")
      ->delimiter(',');
  app->add_option("--transport", arguments->transport, "threads, or mpi (under mpirun)")
      ->check(CLI::IsMember({"threads", "mpi"}))
      ->capture_default_str();
  app->add_option("--algorithm", arguments->algorithm,
                  "A name, or one per range of sizes: ring:64KiB-max; default: by cost");
  app->add_option("--costs", arguments->costs,
                  "Link costs; default: what `troika profile --links` has measured");
  app->add_option("--repeats", arguments->repeats, "Timed batches of each")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app->add_flag("--explain", arguments->explains, "Also time the alternatives; say why");
  app->add_flag("--json", arguments->json, "Print JSON, an object per size");
  app->footer("Example:\n  troika bench comm --op allreduce --devices 2 --bytes 8,64KiB,1MiB");
  return {app, [arguments, &context] { run(*arguments, context); }};
}

}  // namespace troika::cli
