#include <fmt/format.h>

#include <cstring>
#include <thread>

#include "base/random.h"
#include "collective/algorithms.h"
#include "comm/communicator.h"
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
std::vector<std::byte> contribution(const Case& test, int member, std::uint64_t stream) {
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
  auto vector = contribution(test, group.member(), stream);
  auto input = contribution(test, group.member(), stream + 1);
  group.run(recipe, {vector, input}, test.elements);
  return vector;
}

using Results = std::vector<std::vector<std::byte>>;

Results run_cases(Transport& transport, DeviceId device, std::size_t devices,
                  const std::vector<Case>& cases) {
  std::vector<DeviceId> all;
  for (std::size_t at = 0; at < devices; ++at) all.emplace_back(at);
  MoveProgress progress(transport, device);
  Communicator group(progress, all);
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

/// The library's own collectives on sums that are exact, against what they are.
void check_library_collectives(Stage& stage) {
  auto check = [&heartbeat = stage.heartbeat] { heartbeat.check(); };
  int ranks = stage.world.ranks();
  for (CombineRule rule : {CombineRule::sum, CombineRule::mean, CombineRule::max}) {
    LibraryCall call{.call = equal_parts(Collective::all_reduce, ranks, 1000), .rule = rule};
    std::vector<float> values(1000);
    auto collective =
        stage.world.prepare_collective(call, std::as_writable_bytes(std::span(values)), check);
    for (int round = 0; round < 3; ++round) {
      std::fill(values.begin(), values.end(), static_cast<float>(stage.world.rank() + round));
      collective->start();
      while (!collective->done()) std::this_thread::yield();
      auto sum = static_cast<float>(ranks * (ranks - 1) / 2 + ranks * round);
      float expected = rule == CombineRule::sum ? sum : sum * (1.0f / static_cast<float>(ranks));
      if (rule == CombineRule::max) expected = static_cast<float>(ranks - 1 + round);
      for (float value : values) {
        if (value != expected)
          throw Bug(fmt::format("MPI's own gives {}, not {}", value, expected));
      }
    }
  }
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
  check_library_collectives(stage);
  if (stage.world.rank() == 0) fmt::print("{} cases\n", cases.size());
  stage.world.exchange("");
}

}  // namespace troika
