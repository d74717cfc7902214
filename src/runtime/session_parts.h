// Private types of Session, for its own sources.
#pragma once

#include <string>
#include <utility>

#include "runtime/prepared_messages.h"
#include "runtime/session.h"

namespace troika {

struct Session::Program {
  TaskGraph graph;
  int largest_lag = 0;  ///< Of its tasks.
  PreparedMessages messages;
  std::map<DeviceId, std::unique_ptr<Executor>> executors;
  std::chrono::nanoseconds took{};  // the last run, for its caller
};

struct Session::StateBuffer {
  BufferSpec spec;
  Buffer buffer;
};

struct Session::Place {
  Place(DeviceId own, Device& on, const Backend& backend) : id(own), device(on), kernels(backend) {}

  const DeviceId id;
  Device& device;
  KernelCache kernels;
  std::unique_ptr<MoveScheduler> scheduler;  // null: the device is alone
  Buffer arena;
  Event done;
};

/// Runs a callable as device work.
template <class F>
class Call final : public Work {
 public:
  explicit Call(F f) : f_(std::move(f)) {}
  void run() override { f_(); }

 private:
  F f_;
};

/// Calls copy(offset in the whole tensor, offset in the part's own dense memory, length), in bytes,
/// for each run of a region.
template <class Copy>
void for_region(const BufferSpec& part, const Region& region, const Copy& copy) {
  std::int64_t size = size_of(part.spec.dtype).count, at = 0;
  for_each_run(part.whole, region, [&](std::int64_t offset, std::int64_t length) {
    copy(static_cast<std::size_t>(offset * size), static_cast<std::size_t>(at * size),
         static_cast<std::size_t>(length * size));
    at += length;
  });
}

/// Returns true if `buffer` is "name" or "name@device".
inline bool is_called(const std::string& buffer, const std::string& name) {
  return buffer == name || buffer.starts_with(name + "@");
}

}  // namespace troika
