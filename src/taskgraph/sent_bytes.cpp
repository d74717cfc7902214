#include "taskgraph/sent_bytes.h"

#include "base/error.h"
#include "collective/algorithms.h"

namespace troika {

Bytes& SentBytes::operator[](LinkKind kind) { return of_kind(*this, kind); }

namespace {

bool leaves_device(MoveKind kind) {
  // A loan is read by the peer. What is given back was written by this device.
  return kind == MoveKind::send || kind == MoveKind::lend || kind == MoveKind::give_back;
}

}  // namespace

SentBytes sent_bytes(const TaskGraph& graph, DeviceId device) {
  SentBytes sent;
  for (const Communication& communication : graph.communications) {
    for (std::size_t member = 0; member < communication.devices.size(); ++member) {
      if (communication.devices[member] != device) continue;
      int own = static_cast<int>(member);
      MemberRecipe recipe = make_member_recipe(communication.call, communication.algorithm, own);
      for (const Move& move : recipe.moves.moves)
        if (leaves_device(move.kind))
          sent[link_between(communication.call, own, move.peer)] +=
              size_of(communication.dtype) * move.from.elements.extent();
    }
  }
  return sent;
}

}  // namespace troika
