#include "config/load_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/mapped_file.h"
#include "config/check_run.h"
#include "config/override.h"
#include "config/run_keys.h"
#include "config/run_paths.h"
#include "strategy/strategy.h"

namespace troika {
namespace {

using namespace config;

constexpr std::size_t kLargestPlan = 64u << 20;

std::vector<std::string> known_paths() {
  std::vector<std::string> paths;
  for (const Entry& entry : list_run({})) paths.push_back(entry.path);
  return paths;
}

/// If two keys exclude each other, the one on the command line removes the one in the file.
void displace_length(Table& document) {
  auto section = std::ranges::find(document, "train", &Field::key);
  auto train = section == document.end() ? nullptr : std::get_if<Table>(&section->value.content);
  if (!train) return;
  auto is_stated = [&](std::string_view key) {
    const Field* field = find(*train, key);
    return field && field->where.source == Source::command_line;
  };
  bool has_length = is_stated("epochs") || is_stated("steps");
  std::erase_if(*train, [&](const Field& field) {
    bool is_length = field.key == "epochs" || field.key == "steps";
    return has_length && is_length && field.where.source == Source::file;
  });
}

RunReading parse_with_complaints(std::string_view text, std::span<const std::string> overrides) {
  auto parsed = parse_toml(text, Source::file);
  if (auto error = std::get_if<SyntaxError>(&parsed))
    return {.run = {}, .complaints = {{error->where, error->message}}};
  Table& document = std::get<Table>(parsed);
  Reader reader(known_paths());
  apply_overrides(overrides, document, reader);
  displace_length(document);
  RunReading reading;
  read_table(document, "", run_keys(), reading.run.config, reader);
  check_run(reading.run.config, reader);
  reading.complaints = reader.complaints();
  reading.run.origins = reader.origins();
  return reading;
}

RunFile require_flawless(RunReading reading, const std::string& path) {
  if (!reading.complaints.empty()) throw Error(ErrorKind::usage, report(reading.complaints, path));
  return std::move(reading.run);
}

/// Nothing if the file cannot be read or is not a plan.
std::optional<std::int64_t> devices_of_plan(const std::string& path) {
  try {
    NamedDevices named = named_devices(parse_strategy(read_small_file(path, kLargestPlan)));
    return named.has_gap() ? std::nullopt : std::optional(named.largest + 1);
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

RunFile parse_run(std::string_view text, const std::string& path,
                  std::span<const std::string> overrides) {
  return require_flawless(parse_with_complaints(text, overrides), path);
}

RunReading read_with_complaints(const std::string& path, std::span<const std::string> overrides) {
  RunReading reading = parse_with_complaints(read_text(path), overrides);
  resolve_paths(reading.run, std::filesystem::path(path).parent_path());
  take_devices_from_plan(reading.run);
  return reading;
}

RunFile read_run(const std::string& path, std::span<const std::string> overrides) {
  return require_flawless(read_with_complaints(path, overrides), path);
}

void take_devices_from_plan(RunFile& run) {
  ParallelConfig& parallel = run.config.parallel;
  if (!parallel.plan.is_file()) return;
  auto stated = run.origins.find("parallel.devices");
  // A plan on the command line overrides the number in the file.
  if (stated != run.origins.end() && stated->second.source >= run.origins["parallel.plan"].source)
    return;
  std::optional<std::int64_t> devices = devices_of_plan(parallel.plan.name);
  if (!devices) return;
  parallel.devices = *devices;
  run.origins["parallel.devices"] = run.origins["parallel.plan"];
}

RunConfig load_run(const std::string& path, std::span<const std::string> overrides) {
  return read_run(path, overrides).config;
}

}  // namespace troika
