// One thread calls MPI for all devices: they hand over a request and look at its flag.
#include <algorithm>
#include <condition_variable>
#include <thread>
#include <vector>

#include "comm/mpi/mpi_engine.h"
#include "comm/mpi/mpi_status.h"

namespace troika {
namespace {

class ThreadEngine final : public MpiEngine {
 public:
  explicit ThreadEngine(std::mutex& lock)
      : mpi_(lock), thread_([this](const std::stop_token& stop) { work(stop); }) {}

  ~ThreadEngine() override {
    std::scoped_lock lock(mutex_);  // or the thread misses it between its look and its sleep
    thread_.request_stop();
    changed_.notify_all();
  }

  /// Makes room, so that starting never allocates.
  void add(MpiRequest&) override {
    std::scoped_lock lock(mutex_);
    ++requests_;
    handed_over_.reserve(requests_);
  }

  void remove(MpiRequest& request) noexcept override {
    std::scoped_lock mpi(mpi_);
    std::scoped_lock lock(mutex_);
    std::erase(handed_over_, &request);
    std::erase(active_, &request);
    --requests_;
    free_request(request, time_);
  }

  void start(MpiRequest& request) override {
    request.done.store(false, std::memory_order_relaxed);
    std::scoped_lock lock(mutex_);
    handed_over_.push_back(&request);
    changed_.notify_one();
  }

  bool test(MpiRequest& request) override {
    if (!request.done.load(std::memory_order_acquire)) return false;
    if (request.error) std::rethrow_exception(std::exchange(request.error, nullptr));
    return true;
  }

 private:
  void work(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      if (move_bytes()) {
        std::this_thread::yield();
      } else {
        wait(stop);
      }
    }
  }

  /// Whether a request is still under way.
  bool move_bytes() {
    std::scoped_lock lock(mpi_);
    take_over();
    std::erase_if(active_, [](MpiRequest* request) { return finished(*request); });
    return !active_.empty();
  }

  void take_over() {
    std::scoped_lock lock(mutex_);
    if (active_.capacity() < requests_) active_.reserve(requests_);
    for (MpiRequest* request : handed_over_) {
      if (attempt(*request, [&] { check_mpi(MPI_Start(&request->handle), "MPI_Start"); })) {
        request->is_active = true;
        active_.push_back(request);
      }
    }
    handed_over_.clear();
  }

  void wait(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return stop.stop_requested() || !handed_over_.empty(); });
  }

  /// Runs a call of MPI; what it throws is kept for the device's thread and ends the request.
  template <class F>
  static bool attempt(MpiRequest& request, F&& call) {
    try {
      call();
      return true;
    } catch (...) {
      request.error = std::current_exception();
      request.done.store(true, std::memory_order_release);
      return false;
    }
  }

  static bool finished(MpiRequest& request) {
    int done = 0;
    bool well = attempt(request, [&] {
      check_mpi(MPI_Test(&request.handle, &done, MPI_STATUS_IGNORE), "MPI_Test");
    });
    if (well && done != 0) {
      request.is_active = false;
      request.done.store(true, std::memory_order_release);
    }
    return !well || done != 0;
  }

  std::mutex& mpi_;     // taken before mutex_
  UnwindingTime time_;  // guarded by mpi_
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t requests_ = 0;              // guarded by mutex_
  std::vector<MpiRequest*> handed_over_;  // guarded by mutex_
  std::vector<MpiRequest*> active_;       // guarded by mpi_
  std::jthread thread_;
};

}  // namespace

std::unique_ptr<MpiEngine> make_thread_engine(std::mutex& lock) {
  return std::make_unique<ThreadEngine>(lock);
}

}  // namespace troika
