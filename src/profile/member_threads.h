// The members of a group as threads of this process.
#pragma once

#include <functional>

#include "comm/threads/thread_transport.h"

namespace troika {

struct MemberThreads {
  int members = 2;
  bool pins = false;  ///< Pins each to its own core, as far as there are cores.
};

/// Calls body(transport, member) on a thread for each member and returns when all have ended. An
/// exception of one member ends the waits of the others and is rethrown here.
void run_member_threads(const MemberThreads& threads,
                        const std::function<void(ThreadTransport& transport, int member)>& body);

}  // namespace troika
