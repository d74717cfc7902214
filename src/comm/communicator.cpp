#include "comm/communicator.h"

#include <algorithm>

#include "base/error.h"

namespace troika {
namespace {

int place_of(DeviceId device, const std::vector<DeviceId>& devices) {
  TROIKA_CHECK_EQ(std::ranges::count(devices, device), 1);
  return static_cast<int>(std::ranges::find(devices, device) - devices.begin());
}

}  // namespace

Communicator::Communicator(MoveProgress& progress, std::vector<DeviceId> devices,
                           std::uint32_t first_tag)
    : progress_(progress),
      devices_(std::move(devices)),
      member_(place_of(progress.device(), devices_)),
      next_tag_(first_tag) {}

std::unique_ptr<Operation> Communicator::prepare(const Recipe& recipe, const MemberBuffers& buffers,
                                                 const Elements& elements) {
  BindOptions options{.dtype = elements.dtype, .rule = elements.rule, .tag = next_tag_};
  next_tag_ += tags_of(recipe);
  return std::make_unique<Operation>(progress_, recipe, Member{member_, devices_}, buffers, options,
                                     elements.chunk);
}

void Communicator::run(const Recipe& recipe, const MemberBuffers& buffers,
                       const Elements& elements) {
  std::unique_ptr<Operation> operation = prepare(recipe, buffers, elements);
  operation->start();
  operation->wait();
}

}  // namespace troika
