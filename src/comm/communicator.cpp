#include "comm/communicator.h"

#include <algorithm>

#include "base/error.h"

namespace troika {
namespace {

int index_of(DeviceId device, const std::vector<DeviceId>& devices) {
  TROIKA_CHECK_EQ(std::ranges::count(devices, device), 1);
  return static_cast<int>(std::ranges::find(devices, device) - devices.begin());
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

}  // namespace troika
