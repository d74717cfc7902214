#include "comm/communicator.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/hash.h"

namespace troika {
namespace {

int index_of(DeviceId device, const std::vector<DeviceId>& devices) {
  TROIKA_CHECK_EQ(std::ranges::count(devices, device), 1);
  return static_cast<int>(std::ranges::find(devices, device) - devices.begin());
}

/// The root of other collectives has no meaning, and must not make two calls look different.
bool has_root(Collective kind) {
  return kind == Collective::broadcast || kind == Collective::reduce ||
         kind == Collective::gather || kind == Collective::scatter;
}

}  // namespace

Communicator::Communicator(MoveScheduler& scheduler, std::vector<DeviceId> devices)
    : scheduler_(scheduler),
      devices_(std::move(devices)),
      member_(index_of(scheduler.device(), devices_)) {}

std::unique_ptr<Operation> Communicator::prepare(const MemberRecipe& recipe,
                                                 const MemberBuffers& buffers,
                                                 const Elements& elements) {
  Member member{member_, devices_};
  BindOptions options{
      .dtype = elements.dtype, .rule = elements.rule, .tags = tags_.take(recipe.moves, member)};
  return std::make_unique<Operation>(recipe, member, buffers, options, scheduler_.transport(),
                                     elements.chunk);
}

std::unique_ptr<Operation> Communicator::prepare(const Recipe& recipe, const MemberBuffers& buffers,
                                                 const Elements& elements) {
  auto place = static_cast<std::size_t>(member_);
  return prepare(MemberRecipe{recipe.call, recipe.algorithm, member_, recipe.members.at(place)},
                 buffers, elements);
}

void Communicator::run(const Recipe& recipe, const MemberBuffers& buffers,
                       const Elements& elements) {
  std::unique_ptr<Operation> operation = prepare(recipe, buffers, elements);
  scheduler_.start(*operation);
  scheduler_.wait(*operation);
}

std::string describe_call(const CollectiveCall& call, std::string_view algorithm,
                          const Communicator::Elements& elements) {
  // The text goes into every heartbeat and must be short, so ranges appear as a hash.
  std::uint64_t ranges = 0;
  for (const Range& range : call.ranges) {
    ranges = hash_text(fmt::format("{}-{} ", range.begin, range.end), ranges);
  }
  std::string root = has_root(call.kind) ? fmt::format(", root {}", call.root) : "";
  std::string segment = call.segment > 0 ? fmt::format(", segments of {}", call.segment) : "";
  std::string order = call.order == CombineOrder::tree ? ", tree order" : "";
  return fmt::format("{} of {} {} ({}, {}{}{}{}, {} members, ranges {:04x})", to_string(call.kind),
                     call.count, to_string(elements.dtype), to_string(elements.rule), algorithm,
                     root, segment, order, call.members, ranges & 0xffff);
}

}  // namespace troika
