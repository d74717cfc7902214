#include "profile/member_threads.h"

#include <exception>
#include <thread>
#include <vector>

#include "base/cores.h"
#include "base/error.h"
#include "base/mutex.h"

namespace troika {
namespace {

/// The first thing that any member threw.
class FirstFailure {
 public:
  void keep(ThreadTransport& transport, const std::string& what) {
    {
      Lock lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
    transport.fail("another device of this process has failed: " + what,
                   static_cast<int>(ErrorKind::peer));
  }
  void rethrow() {
    Lock lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  Mutex mutex_;
  std::exception_ptr failure_ TROIKA_GUARDED_BY(mutex_);
};

}  // namespace

void run_member_threads(const MemberThreads& threads,
                        const std::function<void(ThreadTransport&, int)>& body) {
  ThreadTransport transport;
  FirstFailure failure;
  std::vector<int> cores = usable_cores();
  auto run = [&](int member) {
    try {
      if (threads.pins) bind_to_core(member, cores);
      body(transport, member);
    } catch (const std::exception& error) {
      failure.keep(transport, error.what());
    } catch (...) {
      failure.keep(transport, "for no known reason");
    }
  };
  std::vector<std::jthread> running;
  for (int member = 0; member < threads.members; ++member) running.emplace_back(run, member);
  // Joins all threads.
  running.clear();
  failure.rethrow();
}

}  // namespace troika
