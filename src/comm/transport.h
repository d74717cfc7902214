// Messages between two devices, prepared once and sent once per round. A transport is a way that
// bytes take: inside the process, over MPI. Nothing here blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/error.h"
#include "comm/doorbell.h"
#include "machine/machine.h"

namespace troika {

/// Names a message between two devices for good: both sides derive the same.
struct MessageAddress {
  DeviceId from, to;
  std::uint32_t tag = 0;

  auto operator<=>(const MessageAddress&) const = default;
};

/// The sender's half. One thread at a time; start and done take turns.
class Outgoing {
 public:
  virtual ~Outgoing() = default;
  /// The bytes are ready and stay as they are until done() has said so.
  virtual void start() = 0;
  virtual bool done() = 0;
};

/// The receiver's half. One thread at a time; start, arrived and finish take turns.
class Incoming {
 public:
  virtual ~Incoming() = default;
  /// The landing place, where there is one, is free.
  virtual void start() = 0;
  /// Where the bytes are: in the landing place, or where memory is shared in the sender's own. Null
  /// as long as they are not there.
  virtual std::byte* arrived() = 0;
  /// The bytes are no longer needed.
  virtual void finish() = 0;
};

/// Owned by one rank; used by all its devices. Outlives the messages made from it. Preparing and
/// progress are thread-safe. A lost peer makes the calls above throw Error(peer) that names it.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual std::unique_ptr<Outgoing> prepare_send(const MessageAddress& address,
                                                 std::span<const std::byte> bytes) = 0;
  /// `landing` is as long as the message; unused where memory is shared.
  virtual std::unique_ptr<Incoming> prepare_receive(const MessageAddress& address,
                                                    std::span<std::byte> landing) = 0;
  /// Whether the two devices can read and write each other's memory, which may then be lent.
  virtual bool shares_memory(DeviceId a, DeviceId b) const = 0;
  /// A loan is a message that has no bytes but the right to use `memory`: `arrived` gives its
  /// address. Loans and messages of equal address are different.
  virtual std::unique_ptr<Outgoing> prepare_lend(const MessageAddress&, std::span<std::byte>) {
    throw Bug("this transport shares no memory");
  }
  virtual std::unique_ptr<Incoming> prepare_borrow(const MessageAddress&, std::size_t /*bytes*/) {
    throw Bug("this transport shares no memory");
  }
  /// Rings whenever a half of this device may have something new to say. Null where nobody rings,
  /// so that who waits must go on asking.
  virtual Doorbell* doorbell(DeviceId) { return nullptr; }
  /// Devices of this process, and of all processes on this machine, that may be waiting; as far as
  /// they are known now.
  virtual int local_devices() const { return 1; }
  virtual int devices_here() const { return local_devices(); }
  /// A device of this process cannot go on: whoever in it waits in vain from now on throws
  /// Error(peer) with this reason, and other ranks are told. The first reason stands. The code is
  /// the one that the process will end with. Any thread may call it.
  virtual void fail(std::string /*reason*/, int /*exit_code*/) {}
  /// Gives the library underneath a chance to move bytes; cheap when there is nothing to do.
  virtual void progress() = 0;
};

}  // namespace troika
