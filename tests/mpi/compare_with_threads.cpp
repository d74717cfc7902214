#include <fmt/format.h>

#include <thread>

#include "base/random.h"
#include "collective/algorithms.h"
#include "collective/by_mpi.h"
#include "comm/communicator.h"
#include "comm/serial_collective_test.h"
#include "comm/threads/thread_transport.h"
#include "rank.h"

namespace troika {
namespace {

struct Case {
  CollectiveCall call;
  std::string algorithm;
  Communicator::Elements elements;
};

std::vector<Case> cases_for(const std::vector<int>& processes) {
  std::vector<Case> cases;
  for (const Algorithm& algorithm : algorithms()) {
    for (std::int64_t count : {0, 1, 7, 1000, 40'003}) {
      if (algorithm.kind == Collective::barrier && count > 0) continue;
      CollectiveCall call = equal_parts(algorithm.kind, static_cast<int>(processes.size()), count);
      call.processes = processes;
      call.root = call.members / 2;
      if (count == 1000) call.segment = 64;
      if (algorithm.why_not(call)) continue;
      for (DType dtype : {DType::f32, DType::bf16}) {
        cases.push_back({call, std::string(algorithm.name), {.dtype = dtype}});
      }
    }
  }
  return cases;
}

/// Any finite values of the type, the same wherever they are drawn.
std::vector<std::byte> any_values(const Case& test, int member, std::uint64_t stream) {
  auto size = static_cast<std::size_t>(size_of(test.elements.dtype).count);
  std::vector<std::byte> bytes(static_cast<std::size_t>(test.call.count) * size);
  RandomStream random{.key = static_cast<std::uint64_t>(member), .stream = stream};
  for (std::size_t at = 0; at < bytes.size(); ++at)
    bytes[at] = static_cast<std::byte>(random.word(at));
  // The exponent's top bits cleared: sums stay finite.
  for (std::size_t at = size - 1; at < bytes.size(); at += size) bytes[at] &= std::byte{0xbf};
  return bytes;
}

std::vector<std::byte> result_of(Communicator& group, const Case& test, const Recipe& recipe,
                                 std::uint64_t stream) {
  auto vector = any_values(test, group.member(), stream);
  auto input = any_values(test, group.member(), stream + 1);
  group.run(recipe, {vector, input}, test.elements);
  return vector;
}

using Results = std::vector<std::vector<std::byte>>;

Results run_cases(Transport& transport, DeviceId device, std::size_t devices,
                  const std::vector<Case>& cases) {
  std::vector<DeviceId> all;
  for (std::size_t at = 0; at < devices; ++at) all.emplace_back(at);
  MoveScheduler scheduler(transport, device);
  Communicator group(scheduler, all);
  Results results;
  for (std::size_t at = 0; at < cases.size(); ++at) {
    Recipe recipe = make_recipe(cases[at].call, cases[at].algorithm);
    results.push_back(result_of(group, cases[at], recipe, 2 * at));
  }
  return results;
}

/// By device: the same in one process, on threads alone.
std::vector<Results> run_on_threads(std::size_t devices, const std::vector<Case>& cases) {
  ThreadTransport transport;
  std::vector<Results> results(devices);
  std::vector<std::jthread> threads;
  for (std::size_t at = 0; at < devices; ++at) {
    threads.emplace_back(
        [&, at] { results[at] = run_cases(transport, DeviceId(at), devices, cases); });
  }
  threads.clear();
  return results;
}

struct SerialCase {
  CollectiveCall call;
  std::string algorithm;  // or MPI's own
  DType dtype;
  CombineRule rule;
};

/// Every kind, algorithm, type and rule at small counts.
std::vector<SerialCase> serial_cases(const std::vector<int>& processes, int ranks) {
  std::vector<SerialCase> cases;
  auto add = [&](const CollectiveCall& call, std::string_view algorithm) {
    for (DType dtype : {DType::f32, DType::f64, DType::i32, DType::f16, DType::bf16}) {
      if (algorithm == kByMpi && why_not_by_mpi(call, size_of(dtype))) continue;
      for (CombineRule rule :
           {CombineRule::sum, CombineRule::mean, CombineRule::min, CombineRule::max}) {
        if (combines(call.kind) || rule == CombineRule::sum)
          cases.push_back({call, std::string(algorithm), dtype, rule});
      }
    }
  };
  for (const Algorithm& algorithm : algorithms()) {
    auto members = static_cast<int>(processes.size());
    CollectiveCall call =
        equal_parts(algorithm.kind, members, algorithm.kind == Collective::barrier ? 0 : 19);
    call.processes = processes;
    call.root = members / 2;
    if (!algorithm.why_not(call)) add(call, algorithm.name);
    bool is_first = algorithm.name == algorithms(algorithm.kind).front().name;
    if (is_first && members == ranks) add(call, kByMpi);
  }
  return cases;
}

template <class T>
void check_serial(const SerialCase& test, Communicator& group, Stage& stage) {
  auto count = static_cast<std::size_t>(test.call.count);
  std::vector<T> vector(count), input(count);
  for (std::size_t at = 0; at < count; ++at)
    vector[at] = input[at] = static_cast<T>(
        static_cast<float>(contribution(group.member(), static_cast<std::int64_t>(at))));
  auto bytes = [](std::vector<T>& values) { return std::as_writable_bytes(std::span(values)); };
  if (test.algorithm == kByMpi) {
    auto check = [&heartbeat = stage.heartbeat] { heartbeat.check(); };
    auto collective =
        stage.world.prepare_collective({test.call, test.dtype, test.rule}, bytes(vector), check);
    collective->start();
    while (!collective->done()) std::this_thread::yield();
  } else {
    auto operation =
        group.prepare(make_member_recipe(test.call, test.algorithm, group.member()),
                      {bytes(vector), bytes(input)}, {.dtype = test.dtype, .rule = test.rule});
    group.scheduler().start(*operation);
    group.scheduler().wait(*operation);
  }
  for (std::size_t at = 0; at < count; ++at) {
    auto value = expected(test.call, group.member(), static_cast<std::int64_t>(at), test.rule);
    CombineRule rule = combines(test.call.kind) ? test.rule : CombineRule::sum;
    if (!value) continue;
    auto wanted = static_cast<double>(stored<T>(*value, rule, test.call.members));
    if (static_cast<double>(vector[at]) == wanted) continue;
    throw Bug(fmt::format("{} by {} of {} ({}) gives {} in element {} of member {}, not {}",
                          to_string(test.call.kind), test.algorithm, to_string(test.dtype),
                          to_string(test.rule), static_cast<double>(vector[at]), at, group.member(),
                          wanted));
  }
}

void check_serial(const SerialCase& test, Communicator& group, Stage& stage) {
  dispatch_elements(test.dtype, [&]<class T>() { check_serial<T>(test, group, stage); });
}

/// On a transport of its own. How many cases there were.
std::size_t compare_with_serial(Stage& stage, int per_rank) {
  std::vector<int> rank_of_device = spread_devices(stage.world.ranks(), per_rank);
  auto cases = serial_cases(rank_of_device, stage.world.ranks());
  auto transport = join_devices(stage, rank_of_device);
  run_devices(stage, per_rank, [&](DeviceId device) {
    std::vector<DeviceId> all;
    for (std::size_t at = 0; at < rank_of_device.size(); ++at) all.emplace_back(at);
    MoveScheduler scheduler(*transport, device);
    Communicator group(scheduler, all);
    for (const SerialCase& test : cases) check_serial(test, group, stage);
  });
  stage.world.exchange("");  // before a transport goes
  return cases.size();
}

}  // namespace

void compare_with_threads(Stage& stage, const Words& words) {
  int per_rank = std::stoi(words.at(0));
  std::vector<int> rank_of_device = spread_devices(stage.world.ranks(), per_rank);
  auto cases = cases_for(rank_of_device);
  auto expected = run_on_threads(rank_of_device.size(), cases);
  auto transport = join_devices(stage, rank_of_device);
  run_devices(stage, per_rank, [&](DeviceId device) {
    auto results = run_cases(*transport, device, rank_of_device.size(), cases);
    for (std::size_t at = 0; at < cases.size(); ++at) {
      if (results[at] == expected[device.index()][at]) continue;
      throw Bug(fmt::format("{} by {} of {} {} differs on device {} from the one on threads",
                            to_string(cases[at].call.kind), cases[at].algorithm,
                            cases[at].call.count, to_string(cases[at].elements.dtype),
                            device.value));
    }
  });
  std::size_t serial = compare_with_serial(stage, per_rank);
  if (stage.world.rank() == 0)
    fmt::print("{} cases as on threads, {} as a plain loop\n", cases.size(), serial);
  stage.world.exchange("");
}

}  // namespace troika
