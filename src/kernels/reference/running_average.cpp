#include "kernels/reference/reference.h"
#include "kernels/step_values.h"

namespace troika {
namespace running_average_reference {

enum Slots { kRunning, kScalars, kControl };

template <class T>
void run(const RunningAverage& op, const Arguments& a) {
  // A step that was not finite must not put its statistics into the average.
  if (!StepValues(a.value<const double>(kScalars), a.value<const double>(kControl)).ok()) return;
  auto running = a.value<T>(kRunning);
  auto sum = a.gradient<const T>(kRunning);
  for (std::size_t i = 0; i < running.size(); ++i) {
    double mean = static_cast<double>(sum[i]) / static_cast<double>(op.shards);
    running[i] = static_cast<T>(running[i] + op.momentum * (mean - running[i]));
  }
}

}  // namespace running_average_reference

void run_reference(const RunningAverage& op, const Arguments& a) {
  using namespace running_average_reference;
  dispatch(a.spec(kRunning).dtype, [&]<class T>() { run<T>(op, a); });
}

}  // namespace troika
