// An operation that the heartbeat knows of: who waits in it in vain learns why.
#pragma once

#include <memory>
#include <string>

#include "comm/communicator.h"
#include "comm/heartbeat/heartbeat.h"

namespace troika {

/// All that must be equal on the members: "all_reduce of 1000 f32 (sum, ring)".
std::string describe_call(const Recipe& recipe, const Communicator::Elements& elements);

/// Made by the one device of each rank that counts the calls for it. Borrows the heartbeat.
class WatchedOperation {
 public:
  WatchedOperation(std::unique_ptr<Operation> operation, Heartbeat& heartbeat, CallId call)
      : operation_(std::move(operation)), heartbeat_(heartbeat), call_(call) {}

  void start(int urgency = 0) {
    heartbeat_.begin(call_);
    operation_->start(urgency);
  }
  bool test() {
    if (!operation_->test()) return false;
    heartbeat_.end(call_);
    return true;
  }
  void wait() {
    operation_->wait();
    heartbeat_.end(call_);
  }

 private:
  std::unique_ptr<Operation> operation_;
  Heartbeat& heartbeat_;
  CallId call_;
};

}  // namespace troika
