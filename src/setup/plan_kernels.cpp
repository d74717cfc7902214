#include "setup/plan_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/number_text.h"
#include "kernels/reference/reference.h"
#include "profile/rates.h"
#include "setup/hosts.h"

namespace troika {
namespace {

/// From "cpu avx2 4 threads onednn 2.6.3".
std::optional<int> threads_of_kind(const std::string& kind) {
  std::size_t end = kind.find(" thread");
  if (end == std::string::npos || end == 0) return std::nullopt;
  std::size_t space = kind.rfind(' ', end - 1);
  if (space == std::string::npos) return std::nullopt;
  return parse_number<int>(std::string_view(kind).substr(space + 1, end - space - 1));
}

bool has_times(const std::vector<Candidate>& candidates) {
  for (const Candidate& candidate : candidates)
    if (!candidate.time) return false;
  return true;
}

/// The kernels of this kind have measured times.
bool has_timed_rows(const KernelTable& table, const std::string& kind) {
  auto found = table.kinds().find(kind);
  if (found == table.kinds().end()) return false;
  return std::ranges::any_of(found->second.rows(), [](const KernelRows::Row& row) {
    return !row.candidates.empty() && has_times(row.candidates);
  });
}

struct Beside {
  std::int32_t devices = 1;  // of a computer
  bool is_here = false;
};

/// Starts a device of this machine of that kind; nothing if it has none, or fewer cores than the
/// device has threads.
std::optional<RuntimeSetup> set_up_kind(const std::string& kind, KernelsConfig kernels,
                                        const Beside& beside) {
  std::optional<int> threads = threads_of_kind(kind);
  if (!threads || *threads < 1 || *threads > usable_threads()) return std::nullopt;
  kernels.backend = kind.ends_with("reference") ? KernelsConfig::Backend::reference
                                                : KernelsConfig::Backend::TROIKA_DEFAULT_BACKEND;
  Occupancy occupancy = occupancy_of(beside.devices, usable_threads() / *threads);
  if (!beside.is_here) occupancy.devices = occupancy.at_once;
  RuntimeSetup made =
      set_up_runtime(kernels, {.devices = 1, .threads = *threads}, {.occupancy = occupancy});
  if (made.device().kind() != kind) return std::nullopt;
  return made;
}

/// Rows that were timed on a computer whose cores ran all its devices hold for one that does, too.
KernelRows beside(const KernelRows& rows, std::int32_t devices) {
  for (const KernelRows::Row& row : rows.rows()) {
    for (const Candidate& candidate : row.candidates) {
      if (!candidate.timing) continue;
      const Occupancy& at = candidate.timing->at;
      std::int32_t most = at.at_once < at.devices ? at.at_once : devices;
      return reoccupied(rows, occupancy_of(devices, most));
    }
  }
  return rows;
}

}  // namespace

PlanKernels::PlanKernels(Options options)
    : options_(std::move(options)), plain_(make_reference_backend()) {}

RuntimeSetup* PlanKernels::find_here(const std::string& kind) {
  auto [known, is_new] = here_.try_emplace(kind);
  if (is_new) {
    KernelsConfig kernels = options_.kernels;
    kernels.measure = kernels.measure && options_.measures;
    known->second = set_up_kind(kind, kernels, {devices_, options_.is_here});
    if (known->second && known->second->costs && options_.step > Bytes{})
      known->second->costs->meet_step(options_.step);
  }
  return known->second ? &*known->second : nullptr;
}

void PlanKernels::meet(Machine& machine) {
  devices_ = occupancy_of(machine, 1).devices;
  if (std::optional<int> threads = threads_of_kind(machine.devices.front().kind);
      threads && options_.is_here)
    machine.moves_beside = devices_ * *threads < usable_threads();
  const KernelTable given = options_.given;
  for (const auto& [kind, rows] : given.kinds()) options_.given.of(kind) = beside(rows, devices_);
  std::map<std::string, DeviceSpec> rates;
  for (DeviceSpec& device : machine.devices) {
    if (has_timed_rows(options_.given, device.kind)) continue;
    auto [known, is_new] = rates.try_emplace(device.kind, device);
    RuntimeSetup* here = is_new ? find_here(device.kind) : nullptr;
    if (here != nullptr && !here->is_measured)
      known->second = measure_rates(device, here->device(), *here->backend);
    if (find_here(device.kind) == nullptr) continue;
    device.flops_per_second = known->second.flops_per_second;
    device.bytes_per_second = known->second.bytes_per_second;
  }
  fitted_.emplace(options_.given, machine);
}

std::vector<Candidate> PlanKernels::answer_row(const KernelRequest& row) {
  const std::vector<Candidate>* given = options_.given.find(row.kind, row.key);
  if (given != nullptr) {
    if (!given->empty()) ++(has_times(*given) ? sources_.given : sources_.estimated);
    return *given;
  }
  bool has_fit = fitted_ && fitted_->fit_of(row.kind) != nullptr;
  bool takes_fit = has_fit && (!options_.measures || find_here(row.kind) == nullptr);
  if (takes_fit) {
    std::vector<Candidate> fitted = fitted_->answer(row);
    if (!fitted.empty()) ++sources_.fitted;
    return fitted;
  }
  RuntimeSetup* here = find_here(row.kind);
  std::vector<Candidate> candidates =
      here != nullptr ? here->answer({row}).front() : plain_->candidates(row.key);
  // Operators that cannot be fused have no kernel.
  if (!candidates.empty()) ++(has_times(candidates) ? sources_.measured : sources_.estimated);
  return candidates;
}

std::vector<std::vector<Candidate>> PlanKernels::answer(const std::vector<KernelRequest>& rows) {
  std::vector<std::vector<Candidate>> answers;
  for (const KernelRequest& row : rows) answers.push_back(answer_row(row));
  return answers;
}

TimedBeside PlanKernels::timed(const Machine& machine) {
  const std::string& kind = machine.devices.front().kind;
  TimedBeside made;
  for (const DeviceSpec& device : machine.devices) made.computers.push_back(device.node);
  if (has_timed_rows(options_.given, kind)) {
    made.rates = options_.given.of(kind).memory_rates;
    for (const KernelRows::Row& row : options_.given.of(kind).rows())
      for (const Candidate& candidate : row.candidates)
        if (candidate.timing) made.occupancy = candidate.timing->at;
  } else if (RuntimeSetup* here = find_here(kind); here != nullptr && here->costs != nullptr) {
    made.rates = here->costs->memory_rates();
    made.occupancy = here->costs->occupancy();
  }
  return made;
}

void PlanKernels::finish() {
  for (auto& [kind, setup] : here_) {
    if (!setup || setup->costs == nullptr) continue;
    setup->costs->finish();
    sources_.measured_now += setup->costs->measured();
  }
}

KernelTable with_rows(KernelTable table, const KernelTable& more) {
  for (const auto& [kind, rows] : more.kinds())
    for (const KernelRows::Row& row : rows.rows()) table.insert({kind, row.key}, row.candidates);
  return table;
}

}  // namespace troika
