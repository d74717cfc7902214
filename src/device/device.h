// A processor with its memory, of any kind: host code accesses that memory by read and write only.
// A CPU device is one thread with its own OpenMP team; a CUDA device will be a set of streams.
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

/// A piece of work for a device. The caller owns it and keeps it until its event is done, so that
/// submitting never allocates.
class Work {
 public:
  virtual ~Work() = default;
  /// Runs on the device's own thread.
  virtual void run() = 0;
};

/// Completion of submitted work; reusable after wait. Thread-safe.
class Event {
 public:
  /// Blocks until the work is done; rethrows its exception.
  void wait();
  /// Called by the device: the work has ended, with this error or null.
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

  /// Returns zeroed memory, aligned to at least 64 bytes. Throws Error(memory) that names the size.
  [[nodiscard]] virtual Buffer allocate(Bytes bytes) = 0;
  virtual Bytes allocated() const = 0;
  virtual std::int64_t allocations() const = 0;

  /// Runs `work` on the device's own thread, after all work submitted before, then signals `done`
  /// once. Does not allocate while fewer than 64 pieces of work are waiting.
  virtual void submit(Work& work, Event& done) = 0;

  /// Copy between host and device memory and return when done. Must not run concurrently with
  /// submitted work on the same memory.
  virtual void write(DevicePointer to, std::span<const std::byte> from) = 0;
  virtual void read(std::span<std::byte> to, DevicePointer from) = 0;

 private:
  friend class Buffer;
  virtual void release(DevicePointer address, Bytes bytes) noexcept = 0;
};

}  // namespace troika
