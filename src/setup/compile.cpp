#include "setup/compile.h"

#include "base/error.h"
#include "lower/fragments.h"

namespace troika {

TaskGraph compile_program(const LowerRequest& request, const KernelAnswer& answer,
                          KernelTable& table) {
  FragmentCache fragments;
  LowerRequest kept = request;
  if (kept.fragments == nullptr) kept.fragments = &fragments;
  while (true) {
    LowerResult result = lower(kept, table);
    if (auto* graph = std::get_if<TaskGraph>(&result)) return std::move(*graph);
    if (auto* infeasible = std::get_if<Infeasible>(&result))
      throw Error(ErrorKind::usage, "the strategy cannot run: " + infeasible->reason);
    const std::vector<KernelKey>& keys = std::get<MissingRows>(result).keys;
    std::vector<std::vector<Candidate>> rows = answer(keys);
    for (std::size_t at = 0; at < keys.size(); ++at) table.insert(keys[at], rows.at(at));
  }
}

}  // namespace troika
