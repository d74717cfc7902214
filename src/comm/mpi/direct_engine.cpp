// Every device's thread calls MPI itself, at once or one at a time.
#include <optional>

#include "comm/mpi/mpi_engine.h"
#include "comm/mpi/mpi_status.h"

namespace troika {
namespace {

class DirectEngine final : public MpiEngine {
 public:
  explicit DirectEngine(std::mutex* lock) : lock_(lock) {}

  void add(MpiRequest&) override {}

  void remove(MpiRequest& request) noexcept override {
    auto lock = hold();
    free_request(request);
  }

  void start(MpiRequest& request) override {
    auto lock = hold();
    check_mpi(MPI_Start(&request.handle), "MPI_Start");
    request.is_active = true;
  }

  bool test(MpiRequest& request) override {
    auto lock = try_hold();
    if (!lock) return false;
    int done = 0;
    check_mpi(MPI_Test(&request.handle, &done, MPI_STATUS_IGNORE), "MPI_Test");
    if (done != 0) request.is_active = false;
    return done != 0;
  }

 private:
  std::unique_lock<std::mutex> hold() {
    return lock_ == nullptr ? std::unique_lock<std::mutex>{} : std::unique_lock(*lock_);
  }

  /// Empty when another thread is in MPI: who only looks need not wait, and looks later.
  std::optional<std::unique_lock<std::mutex>> try_hold() {
    if (lock_ == nullptr) return std::unique_lock<std::mutex>{};
    std::unique_lock lock(*lock_, std::try_to_lock);
    if (!lock) return std::nullopt;
    return lock;
  }

  std::mutex* lock_;
};

}  // namespace

std::unique_ptr<MpiEngine> make_direct_engine(std::mutex* lock) {
  return std::make_unique<DirectEngine>(lock);
}

}  // namespace troika
