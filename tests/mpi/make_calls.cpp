#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <numeric>

#include "collective/algorithms.h"
#include "comm/heartbeat/start_heartbeat.h"
#include "comm/watched_operation.h"
#include "rank.h"

namespace troika {
namespace {

struct Planned {
  Collective kind = Collective::all_reduce;
  std::int64_t count = 1000;
  std::string algorithm = "ring";
  Communicator::Elements elements{};
  int root = 0;
  std::int64_t segment = 0;
};

/// The differences between one rank and the others, by number; the last two are of order and number
/// of calls, and made elsewhere.
Planned changed(int kind) {
  using enum Collective;
  static_assert(kDifferences == 22);
  switch (kind) {
    case 0:
      return {.count = 1001};
    case 1:
      return {.count = 999};
    case 2:
      return {.count = 1};
    case 3:
      return {.count = 0};
    case 4:
      return {.count = 300'000};
    case 5:
      return {.elements = {.dtype = DType::f64}};
    case 6:
      return {.elements = {.dtype = DType::i32}};
    case 7:
      return {.elements = {.dtype = DType::f16}};
    case 8:
      return {.elements = {.dtype = DType::bf16}};
    case 9:
      return {.elements = {.rule = CombineRule::max}};
    case 10:
      return {.elements = {.rule = CombineRule::min}};
    case 11:
      return {.elements = {.rule = CombineRule::mean}};
    case 12:
      return {.kind = reduce_scatter};
    case 13:
      return {.kind = all_gather};
    case 14:
      return {.kind = broadcast, .algorithm = "tree"};
    case 15:
      return {.kind = reduce, .algorithm = "tree", .root = 1};
    case 16:
      return {.kind = barrier, .count = 0, .algorithm = "dissemination"};
    case 17:
      return {.kind = gather, .algorithm = "linear"};
    case 18:
      return {.algorithm = "recursive_doubling"};
    case 19:
      return {.segment = 100};
    default:
      return {};
  }
}

class Caller {
 public:
  Caller(Stage& stage, Communicator& group)
      : stage_(stage), group_(group), memory_(4 << 20), input_(4 << 20) {
    std::vector<int> ranks(static_cast<std::size_t>(stage.world.ranks()));
    std::iota(ranks.begin(), ranks.end(), 0);
    round_ = stage.heartbeat.watch({"world", ranks});
  }

  std::unique_ptr<WatchedOperation> prepare(const Planned& planned) {
    CollectiveCall call = equal_parts(planned.kind, group_.size(), planned.count);
    call.processes.resize(static_cast<std::size_t>(group_.size()));
    std::iota(call.processes.begin(), call.processes.end(), 0);
    call.root = planned.root;
    call.segment = planned.segment;
    Recipe recipe = make_recipe(call, planned.algorithm);
    auto bytes = static_cast<std::size_t>(call.count * size_of(planned.elements.dtype).count);
    auto operation =
        group_.prepare(recipe, {std::span(memory_).first(bytes), std::span(input_).first(bytes)},
                       planned.elements);
    CallId id = stage_.heartbeat.describe(round_, describe_call(recipe, planned.elements));
    return std::make_unique<WatchedOperation>(std::move(operation), stage_.heartbeat, id);
  }

 private:
  Stage& stage_;
  Communicator& group_;
  std::vector<std::byte> memory_, input_;
  int round_ = 0;
};

void run(WatchedOperation& operation) {
  operation.start();
  operation.wait();
}

/// For who watches from outside: this rank is at work, and this is its process.
void announce(const Stage& stage) {
  auto path = stage.folder / fmt::format("pid-{}", stage.world.rank());
  std::ofstream(path.string() + ".part") << getpid();
  std::filesystem::rename(path.string() + ".part", path);
}

}  // namespace

void make_calls(Stage& stage, const Words& words) {
  int difference = std::stoi(words.at(0));
  auto transport = join_devices(stage, spread_devices(stage.world.ranks(), 1));
  std::vector<DeviceId> devices;
  for (int at = 0; at < stage.world.ranks(); ++at)
    devices.emplace_back(static_cast<std::size_t>(at));
  MoveProgress progress(*transport, devices[static_cast<std::size_t>(stage.world.rank())]);
  Communicator group(progress, devices);
  Caller caller(stage, group);
  bool odd = difference >= 0 && stage.world.rank() == stage.world.ranks() - 1;

  auto reduce = caller.prepare({});
  auto share =
      caller.prepare({.kind = Collective::broadcast, .count = 20'000, .algorithm = "tree"});
  auto meet =
      caller.prepare({.kind = Collective::barrier, .count = 0, .algorithm = "dissemination"});
  auto other = odd ? caller.prepare(changed(difference)) : caller.prepare({});
  announce(stage);
  for (int round = 0;; ++round) {
    bool now = round == 50 && odd;
    if (now && difference == 21) return;  // leaves, and the others wait
    if (now && difference == 20) std::swap(share, meet);
    run(*reduce);
    run(*share);
    run(*meet);
    if (round >= 50 && difference >= 0) run(*other);
  }
}

void sleep_late(Stage& stage, const Words& words) {
  if (stage.world.rank() != std::stoi(words.at(0))) return;
  announce(stage);
  while (true) pause();
}

void disagree_at_start(Stage& stage, const Words&) {
  require_agreement(stage.world, "plan", "one\ntwo\nthree");
  bool odd = stage.world.rank() == stage.world.ranks() - 1;
  require_agreement(stage.world, "plan", odd ? "one\n2\nthree" : "one\ntwo\nthree");
}

}  // namespace troika
