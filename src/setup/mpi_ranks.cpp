#include "setup/mpi_ranks.h"

#include <map>
#include <numeric>

#include "comm/routed_transport.h"
#include "comm/threads/thread_transport.h"
#include "setup/hosts.h"

namespace troika {
namespace {

class MpiRanks final : public Ranks {
 public:
  MpiRanks(MpiWorld& world, Heartbeat& heartbeat) : world_(world), heartbeat_(heartbeat) {
    std::vector<int> all(static_cast<std::size_t>(world.ranks()));
    std::iota(all.begin(), all.end(), 0);
    group_ = heartbeat.watch({kWorldGroup, all});
  }

  int rank() const override { return world_.rank(); }
  int count() const override { return world_.ranks(); }

  std::string host() const override { return host_name(); }

  std::unique_ptr<Transport> join(const std::vector<int>& rank_of_device) override {
    // Neither MPI nor shared memory reports a lost peer. Waits therefore ask the heartbeat, and a
    // device that fails reports through it to all ranks.
    auto check = [&heartbeat = heartbeat_] { heartbeat.check(); };
    return make_routed_transport(
        {.inside = std::make_unique<ThreadTransport>(),
         .between = world_.make_transport(rank_of_device, check),
         .rank_of_device = rank_of_device,
         .on_failure = [&heartbeat = heartbeat_](const std::string& reason, int exit_code) {
           heartbeat.give_up({reason, exit_code});
         }});
  }

  void watched(const std::string& call, const std::function<void()>& body) override {
    // A call is described to the peers once and then named by its id, which keeps steps cheap.
    auto [known, is_new] = calls_.try_emplace(call);
    if (is_new) known->second = heartbeat_.describe(group_, call);
    heartbeat_.begin(known->second);
    body();
    heartbeat_.end(known->second);
  }

 private:
  std::vector<std::string> pass_round(const std::string& text) override {
    return world_.exchange(text);
  }

  MpiWorld& world_;
  Heartbeat& heartbeat_;
  int group_ = 0;
  std::map<std::string, CallId> calls_;
};

}  // namespace

std::unique_ptr<Ranks> make_mpi_ranks(MpiWorld& world, Heartbeat& heartbeat) {
  return std::make_unique<MpiRanks>(world, heartbeat);
}

}  // namespace troika
