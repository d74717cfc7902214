// An operation that the heartbeat knows of: who waits in it in vain learns why.
#pragma once

#include <memory>
#include <string>
#include <utility>

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
    is_under_way_ = true;
    operation_->start(urgency);
  }
  bool test() {
    if (!operation_->test()) return false;
    end();
    return true;
  }
  void wait() {
    operation_->wait();
    end();
  }

 private:
  /// Once per start, though test and wait may both see the end.
  void end() {
    if (std::exchange(is_under_way_, false)) heartbeat_.end(call_);
  }

  std::unique_ptr<Operation> operation_;
  Heartbeat& heartbeat_;
  CallId call_;
  bool is_under_way_ = false;
};

}  // namespace troika
