#include <algorithm>

#include "kernels/reference/reference.h"

namespace troika {

void run_reference(const Assemble& op, const Arguments& a) {
  int y_slot = static_cast<int>(a.signature().slots.size()) - 1;
  AssemblePlan plan = plan_of(op);
  dispatch(a.spec(y_slot).dtype, [&]<class T>() {
    auto y = a.value<T>(y_slot);
    if (plan.clears) std::ranges::fill(y, T{0});
    for (const AssembleStep& step : plan.steps) {
      int slot = static_cast<int>(step.input);
      auto x = a.value<const T>(slot);
      // Both boxes have the same extents and rank, so their contiguous runs correspond one by one
      // and have the same lengths.
      std::vector<std::int64_t> starts;
      BoxBegin box = begin_of(op, step.input, a.position);
      std::int64_t begin = offset_of(box.in_input, a.shape(slot));
      std::int64_t begin_in_y = offset_of(box.in_y, a.shape(y_slot));
      for_each_run(a.shape(slot), step.from,
                   [&](std::int64_t offset, std::int64_t) { starts.push_back(begin + offset); });
      std::size_t run = 0;
      for_each_run(a.shape(y_slot), step.to, [&](std::int64_t offset, std::int64_t length) {
        std::int64_t from = starts[run++];
        for (std::int64_t i = 0; i < length; ++i) {
          T value = x[static_cast<std::size_t>(from + i)];
          T& to = y[static_cast<std::size_t>(begin_in_y + offset + i)];
          to = !step.combines ? value : op.greatest ? std::max(to, value) : to + value;
        }
      });
    }
  });
}

}  // namespace troika
