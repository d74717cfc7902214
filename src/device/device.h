// A place that computes and its memory, without saying what kind of memory it is: host code reaches
// it only by read and write. A CPU device is one thread with its own OpenMP team; a CUDA device
// will be streams.
#pragma once

#include <cstddef>
#include <exception>
#include <span>
#include <string>

#include "base/mutex.h"
#include "base/units.h"

namespace troika {

/// An address in a device's memory. Only kernels and the device itself may dereference it.
using DevicePointer = std::byte*;

class Device;

/// Owns a block of device memory; move-only. Outlived by its Device.
class Buffer {
 public:
  Buffer() = default;
  Buffer(Device& device, DevicePointer address, Bytes bytes)
      : device_(&device), address_(address), bytes_(bytes) {}
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();

  DevicePointer address() const { return address_; }
  Bytes bytes() const { return bytes_; }

 private:
  Device* device_ = nullptr;
  DevicePointer address_ = nullptr;
  Bytes bytes_{};
};

/// What a device is asked to do. Owned by the caller, who keeps it until its event is done, so that
/// handing over work never allocates.
class Work {
 public:
  virtual ~Work() = default;
  /// Runs on the device's own thread.
  virtual void run() = 0;
};

/// Tells when handed-over work is done; reusable once waited for. Thread-safe.
class Event {
 public:
  /// Blocks until the work is done; rethrows what it threw.
  void wait();
  /// For devices: the work has ended, with this error or none.
  void signal(std::exception_ptr error);

 private:
  Mutex mutex_;
  std::condition_variable changed_;
  bool done_ TROIKA_GUARDED_BY(mutex_) = false;
  std::exception_ptr error_ TROIKA_GUARDED_BY(mutex_);
};

class Device {
 public:
  virtual ~Device() = default;

  /// Instruction set, threads and library versions: what kernel choices and times depend on.
  virtual std::string kind() const = 0;
  virtual int threads() const = 0;

  /// Throws Error(memory) with the size asked for. Zeroed, aligned to 64 bytes at least.
  [[nodiscard]] virtual Buffer allocate(Bytes bytes) = 0;
  virtual Bytes allocated() const = 0;
  virtual std::int64_t allocations() const = 0;

  /// Runs `work` on the device's own thread, after all work handed over before; then signals
  /// `done`. Does not allocate as long as few pieces of work are waiting. `done` is signalled once
  /// per submit.
  virtual void submit(Work& work, Event& done) = 0;

  /// Copies between host and device memory; return when done. Not concurrent with submitted work on
  /// the same memory.
  virtual void write(DevicePointer to, std::span<const std::byte> from) = 0;
  virtual void read(std::span<std::byte> to, DevicePointer from) = 0;

 private:
  friend class Buffer;
  virtual void release(DevicePointer address, Bytes bytes) noexcept = 0;
};

}  // namespace troika
