#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <new>
#include <numeric>

#include "base/error.h"
#include "collective/algorithms.h"
#include "comm/communicator.h"
#include "comm/heartbeat/start_heartbeat.h"
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

/// An operation that the heartbeat knows of.
struct WatchedOperation {
  std::unique_ptr<Operation> operation;
  CallId call;
};

class Caller {
 public:
  Caller(Stage& stage, Communicator& group)
      : stage_(stage), group_(group), memory_(4 << 20), input_(4 << 20) {
    std::vector<int> ranks(static_cast<std::size_t>(stage.world.ranks()));
    std::iota(ranks.begin(), ranks.end(), 0);
    round_ = stage.heartbeat.watch({"world", ranks});
  }

  WatchedOperation prepare(const Planned& planned) {
    CollectiveCall call = equal_parts(planned.kind, group_.size(), planned.count);
    call.processes.resize(static_cast<std::size_t>(group_.size()));
    std::iota(call.processes.begin(), call.processes.end(), 0);
    call.root = planned.root;
    call.segment = planned.segment;
    MemberRecipe recipe = make_member_recipe(call, planned.algorithm, group_.member());
    auto bytes = static_cast<std::size_t>(call.count * size_of(planned.elements.dtype).count);
    auto operation =
        group_.prepare(recipe, {std::span(memory_).first(bytes), std::span(input_).first(bytes)},
                       planned.elements);
    std::string text = describe_call(call, planned.algorithm, planned.elements);
    return {std::move(operation), stage_.heartbeat.describe(round_, text)};
  }

  void run(const WatchedOperation& watched) {
    stage_.heartbeat.begin(watched.call);
    group_.scheduler().start(*watched.operation);
    group_.scheduler().wait(*watched.operation);
    stage_.heartbeat.end(watched.call);
  }

 private:
  Stage& stage_;
  Communicator& group_;
  std::vector<std::byte> memory_, input_;
  int round_ = 0;
};

/// For who watches from outside: this rank is at work (or what `what` says), and this is its
/// process.
void announce(const Stage& stage, const char* what = "pid") {
  auto path = stage.folder / fmt::format("{}-{}", what, stage.world.rank());
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
  MoveScheduler scheduler(*transport, devices[static_cast<std::size_t>(stage.world.rank())]);
  Communicator group(scheduler, devices);
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
    if (now) announce(stage, "odd");
    if (now && difference == 21) return;  // leaves, and the others wait
    if (now && difference == 20) std::swap(share, meet);
    caller.run(reduce);
    caller.run(share);
    caller.run(meet);
    if (round >= 50 && difference >= 0) caller.run(other);
  }
}

void sleep_late(Stage& stage, const Words& words) {
  if (stage.world.rank() != std::stoi(words.at(0))) return;
  announce(stage);
  while (true) pause();
}

void disagree_at_start(Stage& stage, const Words&) {
  RankVoice voice{stage.world.rank(),
                  [&](const std::string& own) { return stage.world.exchange(own); }};
  require_agreement(voice, "plan", "one\ntwo\nthree");
  bool odd = stage.world.rank() == stage.world.ranks() - 1;
  require_agreement(voice, "plan", odd ? "one\n2\nthree" : "one\ntwo\nthree");
}

void fail_alone(Stage& stage, const Words& words) {
  auto transport = join_devices(stage, spread_devices(stage.world.ranks(), 1));
  if (stage.world.rank() == 1) {
    if (words.at(0) == "usage") throw Error(ErrorKind::usage, "there is no such option");
    if (words.at(0) == "file") throw Error(ErrorKind::file, "samples.bin is cut off");
    if (words.at(0) == "memory") throw std::bad_alloc();
    if (words.at(0) == "bug") throw Bug("one is two");
    // A device fails deep inside, and who would catch it is held up.
    transport->fail("device 1 has failed: its disk is full", static_cast<int>(ErrorKind::file));
  }
  while (true) stage.world.exchange("");  // until the heartbeat says why not
}

}  // namespace troika
