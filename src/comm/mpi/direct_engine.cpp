// Every device's thread calls MPI itself, at once or one at a time.
#include "comm/mpi/mpi_engine.h"
#include "comm/mpi/mpi_status.h"

namespace troika {
namespace {

class DirectEngine final : public MpiEngine {
 public:
  explicit DirectEngine(std::mutex* lock) : lock_(lock) {}

  void add(MpiRequest&) override {}

  void remove(MpiRequest& request) noexcept override {
    auto lock = hold(lock_);
    std::scoped_lock unwinding(unwinding_);
    free_request(request, time_);
  }

  void start(MpiRequest& request) override {
    auto lock = hold(lock_);
    check_mpi(MPI_Start(&request.handle), "MPI_Start");
    request.is_active = true;
  }

  bool test(MpiRequest& request) override {
    auto lock = try_hold(lock_);
    if (!lock) return false;
    int done = 0;
    check_mpi(MPI_Test(&request.handle, &done, MPI_STATUS_IGNORE), "MPI_Test");
    if (done != 0) request.is_active = false;
    return done != 0;
  }

 private:
  std::mutex* lock_;
  std::mutex unwinding_;
  UnwindingTime time_;  // guarded by unwinding_
};

}  // namespace

std::unique_ptr<MpiEngine> make_direct_engine(std::mutex* lock) {
  return std::make_unique<DirectEngine>(lock);
}

}  // namespace troika
