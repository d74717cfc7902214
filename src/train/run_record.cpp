#include "train/run_record.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>

#include "config/run_paths.h"
#include "config/show_run.h"
#include "cost/table_json.h"
#include "setup/choose_strategy.h"
#include "setup/hosts.h"
#include "setup/predicted_step.h"
#include "taskgraph/join_timelines.h"

namespace troika {
namespace {

/// Lists what a device holds by category. "spare" is the part of the arena that placement wastes
/// even at the fullest moment.
std::string parts_text(const MemoryTable& memory) {
  std::string parts;
  Bytes named{};
  for (const auto& [category, bytes] : memory.categories) {
    parts += fmt::format("{} {}, ", to_string(category), to_string(bytes));
    named += bytes;
  }
  return parts + fmt::format("spare {}", to_string(memory.total() - named));
}

/// Describes the fullest device with its categories, and the total of all devices.
std::string memory_text(const std::vector<MemoryTable>& devices) {
  auto [least, most] = std::ranges::minmax(devices, {}, &MemoryTable::total);
  std::string text = to_string(most.total());
  std::string parts = parts_text(most);
  if (devices.size() == 1) return fmt::format("{} ({})", text, parts);
  Bytes all{};
  for (const MemoryTable& device : devices) all += device.total();
  if (least.total() == most.total())
    return fmt::format("{} on each of {} devices ({}), {} in all", text, devices.size(), parts,
                       to_string(all));
  return fmt::format("up to {} per device ({}), {} in all on {} devices", text, parts,
                     to_string(all), devices.size());
}

std::string kernels_text(const LiveModel& live) {
  const std::unique_ptr<MeasuredCosts>& costs = live.setup().costs;
  if (!costs) return "chosen by rule";
  std::size_t rows = live.kernels().size();
  if (costs->measured() == 0) return fmt::format("{} choices, measured in an earlier run", rows);
  std::string kept = costs->why_not_kept().empty() ? "kept in " + costs->file().string()
                                                   : "not kept: " + costs->why_not_kept();
  return fmt::format("{} rows, {} kernels measured now, {}", rows, costs->measured(), kept);
}

/// Adds a row for every kernel that was rejected because it disagrees with the reference.
void add_left_out(const LiveModel& live, std::vector<Fact>& facts) {
  const std::unique_ptr<MeasuredCosts>& costs = live.setup().costs;
  if (!costs) return;
  for (const LeftOutKernel& kernel : costs->left_out())
    facts.push_back({"rejected", to_text(kernel)});
}

std::string links_text(const LiveModel& live) {
  const Provenance& from = live.setup().links.provenance;
  return from.date.empty() ? from.source : fmt::format("{} on {}", from.source, from.date);
}

/// ISO 8601, such as 2026-01-31T12:00:00Z.
std::string utc_date(std::chrono::system_clock::time_point time) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(time)));
}

/// Says if samples are computed on several devices. A device that reads the whole batch is not such
/// a replica: the plan then splits another axis.
std::string copies_text(std::int64_t batch, std::int64_t read, std::int64_t largest) {
  if (read <= batch || largest == batch) return "";
  if (read % batch != 0) return ", some samples on several of them";
  return fmt::format(", every sample on {} of them", read / batch);
}

/// Number of samples that each device reads.
using SamplesRead = std::map<DeviceId, std::int64_t>;

std::string share_text(std::int64_t batch, const SamplesRead& read, std::size_t devices) {
  std::int64_t fewest = batch, largest = 0, all = 0;
  for (const auto& [device, samples] : read) {
    fewest = std::min(fewest, samples);
    largest = std::max(largest, samples);
    all += samples;
  }
  std::string share =
      fewest >= largest ? std::to_string(largest) : fmt::format("{} to {}", fewest, largest);
  std::string where = devices == 1 ? std::string("1 device")
                      : read.size() < devices
                          ? fmt::format("{} of {} devices", read.size(), devices)
                          : fmt::format("each of {} devices", devices);
  return fmt::format("{} -> {} on {}{}", batch, share, where, copies_text(batch, all, largest));
}

/// Describes how many samples of the batch each device reads, from the inputs of its program.
std::string batch_text(const RunDescription& run, const TaskGraph& program, std::int64_t batch) {
  std::map<DeviceId, std::map<std::string, std::int64_t>> read;  // by device and input
  for (const auto& [name, id] : program.inputs) {
    const BufferSpec& part = program[id];
    // Inputs with another first extent do not hold samples.
    if (part.region.rank() > 0 && part.whole[0] == batch)
      read[part.device][part.part_of] += part.region[0].extent();
  }
  SamplesRead most;
  for (const auto& [device, inputs] : read) {
    for (const auto& [name, samples] : inputs)
      // The parts of one input may repeat samples, so their sum is capped at the batch.
      most[device] = std::max(most[device], std::min(samples, batch));
  }
  return share_text(batch, most, run.live.setup().machine.devices.size());
}

std::string plan_text(const ParallelConfig& parallel) {
  const PlanConfig& plan = parallel.plan;
  std::string text =
      plan.name.empty() ? fmt::format("data {} x tensor {}", plan.data, plan.tensor) : plan.name;
  return parallel.order == ParallelConfig::Order::fixed ? text + ", fixed order" : text;
}

std::string data_text(const RunDescription& run) {
  const DataConfig& names = run.config.data;
  const TrainingSets& sets = run.sets;
  std::string text = fmt::format("{} ({} samples)", names.train, with_commas(sets.train->size()));
  if (sets.validation)
    text +=
        fmt::format(", validation {} ({})", names.validation, with_commas(sets.validation->size()));
  if (sets.test) text += fmt::format(", test {} ({})", names.test, with_commas(sets.test->size()));
  return text;
}

}  // namespace

std::vector<Fact> describe_run(const RunDescription& run) {
  PredictedStep step = predict_step(run.live, run.model);
  std::int64_t parameters = 0;
  for (const StateEntry& entry : run.live.session().state())
    parameters += entry.category == Category::parameter ? entry.spec.shape.elements() : 0;
  std::int64_t batch = run.course.batches().front();
  std::vector<Fact> facts{{"model", run.model.name},
                          {"parameters", with_commas(parameters)},
                          {"data", data_text(run)},
                          {"global batch", batch_text(run, step.program, batch)},
                          {"steps", with_commas(run.course.total_steps())},
                          {"plan", plan_text(run.config.parallel)},
                          {"device", run.live.setup().device().kind()},
                          {"memory", memory_text(run.memory)},
                          {"kernels", kernels_text(run.live)},
                          {"predicted step", to_string(step.time)}};
  if (run.live.setup().machine.devices.size() > 1) facts.push_back({"links", links_text(run.live)});
  add_left_out(run.live, facts);
  return facts;
}

KernelTable recorded_costs(const RunFolder& folder) {
  return read_costs(folder.path() / "costs.json").value_or(KernelTable{});
}

void write_record(const RunFolder& folder, const RunConfig& config, TrainingRun& training,
                  const Invocation& invocation) {
  const LiveModel& live = training.live();
  folder.write("run.toml", write_toml(with_absolute_paths(config)));
  folder.write("plan.json", to_json(with_origin(training.strategy(), config, training.model(),
                                                live.setup().machine)));
  folder.write("costs.json", to_json(live.kernels()));
  folder.write("links.json", to_json(live.setup().links));
  const Provenance& links = live.setup().links.provenance;
  nlohmann::ordered_json env{{"version", invocation.version},
                             {"command", invocation.command},
                             {"date", utc_date(std::chrono::system_clock::now())},
                             {"host", host_name()},
                             {"device", live.setup().device().kind()},
                             {"backend", live.setup().backend->name()},
                             {"threads", live.setup().device().threads()},
                             {"ranks", live.setup().ranks->count()},
                             {"devices", live.setup().machine.devices.size()},
                             {"first_step", training.state().step},
                             {"plan_hash", training.state().plan_hash},
                             {"compiler", __VERSION__},
                             {"kernel_table", fmt::format("{:016x}", live.kernels().hash())},
                             {"links",
                              {{"source", links.source},
                               {"machine", links.machine},
                               {"date", links.date},
                               {"method", links.method}}}};
  // Command-line arguments may not be valid UTF-8, which dump() would refuse.
  folder.write("env.json",
               env.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

std::string trace_of_run(const LiveModel& live, const MeasuredSteps& step, const RunPart& part) {
  PredictedStep predicted = predict_step(live, step.model);
  Timeline measured = join_timelines(predicted.program, step.ranks);
  return to_chrome_trace(predicted.program,
                         {{"measured", measured}, {"predicted", predicted.timeline}},
                         {{"plan_hash", part.plan_hash},
                          {"devices", std::to_string(live.setup().machine.devices.size())},
                          {"ranks", std::to_string(live.setup().ranks->count())},
                          {"first_step", std::to_string(part.first_step)},
                          {"last_step", std::to_string(part.last_step)},
                          {"batch", std::to_string(part.batch)}});
}

}  // namespace troika
