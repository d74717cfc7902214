// Messages between two devices, prepared once and sent once per round. There are three transports:
// threads/ (shared memory of one process), mpi/ (between processes) and routed_transport, which
// picks one of the two for each message. Nothing here blocks.
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

/// Names a message between two devices. Both sides derive the same address from the recipe.
struct MessageAddress {
  DeviceId from, to;
  std::uint32_t tag = 0;

  auto operator<=>(const MessageAddress&) const = default;
};

/// The sender's half of a message. Used by one thread at a time; in each round start, then done
/// until it returns true.
class Outgoing {
 public:
  virtual ~Outgoing() = default;
  /// Offers the bytes, which must not change until done returns true.
  virtual void start() = 0;
  virtual bool done() = 0;
};

/// The receiver's half of a message. Used by one thread at a time; in each round start, then
/// arrived until it returns an address, then finish.
class Incoming {
 public:
  virtual ~Incoming() = default;
  /// The receive buffer may be overwritten.
  virtual void start() = 0;
  /// Returns the address of the bytes: in the receive buffer or, if memory is shared, in the
  /// sender's own. Null until they have arrived.
  virtual std::byte* arrived() = 0;
  /// The bytes are no longer needed.
  virtual void finish() = 0;
};

/// Owned by one rank and used by all its devices. Outlives the messages made from it. All functions
/// are thread-safe. If a peer is lost, progress and the functions of its messages throw Error(peer)
/// that names it.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual std::unique_ptr<Outgoing> prepare_send(const MessageAddress& address,
                                                 std::span<const std::byte> bytes) = 0;
  /// `buffer` is the receive buffer, as long as the message; unused if memory is shared.
  virtual std::unique_ptr<Incoming> prepare_receive(const MessageAddress& address,
                                                    std::span<std::byte> buffer) = 0;
  /// Returns true if the two devices can read and write each other's memory, which may then be
  /// lent.
  virtual bool shares_memory(DeviceId a, DeviceId b) const = 0;
  /// A loan is a message without bytes that gives the peer the right to use `memory`: its `arrived`
  /// returns the lender's address. A loan and a message may have the same address.
  virtual std::unique_ptr<Outgoing> prepare_lend(const MessageAddress&, std::span<std::byte>) {
    throw Bug("this transport shares no memory");
  }
  virtual std::unique_ptr<Incoming> prepare_borrow(const MessageAddress&, std::size_t /*bytes*/) {
    throw Bug("this transport shares no memory");
  }
  /// Rings when a message of this device may have changed its state. Null if the transport cannot
  /// tell: the caller must then keep polling.
  virtual Doorbell* doorbell(DeviceId) { return nullptr; }
  /// Devices of this process, and of all processes on this machine, that may be polling, as far as
  /// they are known now.
  virtual int local_devices() const { return 1; }
  virtual int devices_here() const { return local_devices(); }
  /// A device of this process has failed: from now on messages that wait for it throw Error(peer)
  /// with this reason, and other ranks are told. Only the first reason counts. `exit_code` is the
  /// one that the process will end with.
  virtual void fail(const std::string& /*reason*/, int /*exit_code*/) {}
  /// Lets the library underneath move bytes. Cheap when there is nothing to do.
  virtual void progress() = 0;
};

}  // namespace troika
