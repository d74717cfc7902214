#include "config/load_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "config/check_run.h"
#include "config/override.h"
#include "config/resolve_plan.h"
#include "config/run_keys.h"
#include "config/run_paths.h"

namespace troika {
namespace {

using namespace config;

std::vector<std::string> known_paths() {
  std::vector<std::string> paths;
  for (const Entry& entry : list_run({})) paths.push_back(entry.path);
  return paths;
}

/// `epochs` and `steps` exclude each other: one on the command line removes the other in the file.
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

RunDraft parse_draft(std::string_view text, const std::string& path,
                     std::span<const std::string> overrides) {
  RunDraft draft{.path = path, .config = {}, .reader = Reader(known_paths())};
  auto parsed = parse_toml(text, Source::file);
  if (auto error = std::get_if<SyntaxError>(&parsed)) {
    draft.reader.refuse("", error->where, error->message);
    draft.is_toml = false;
    return draft;
  }
  Table& document = std::get<Table>(parsed);
  // Before the keys are read, so that values of the command line are checked like those of the
  // file.
  apply_overrides(overrides, document, draft.reader);
  displace_length(document);
  read_table(document, "", run_keys(), draft.config, draft.reader);
  return draft;
}

}  // namespace

RunDraft read_draft(const std::string& path, std::span<const std::string> overrides) {
  RunDraft draft = parse_draft(read_text(path), path, overrides);
  // Paths in the file are relative to it, those of the command line to the working directory.
  resolve_paths(draft.config, draft.reader.origins(), std::filesystem::path(path).parent_path());
  return draft;
}

RunReading settle(RunDraft draft, int ranks) {
  // Without a readable file all keys have defaults, about which complaints make no sense.
  if (draft.is_toml) {
    resolve_plan(draft.config.parallel, draft.reader, ranks);
    check_run(draft.config, draft.reader);
  }
  return {.path = std::move(draft.path),
          .run = {std::move(draft.config), draft.reader.origins()},
          .complaints = draft.reader.complaints()};
}

RunFile require_flawless(RunReading reading) {
  if (!reading.complaints.empty())
    throw Error(ErrorKind::usage, report(reading.complaints, reading.path));
  return std::move(reading.run);
}

RunFile parse_run(std::string_view text, const std::string& path,
                  std::span<const std::string> overrides) {
  return require_flawless(settle(parse_draft(text, path, overrides)));
}

RunFile read_run(const std::string& path, std::span<const std::string> overrides) {
  return require_flawless(settle(read_draft(path, overrides)));
}

RunConfig load_run(const std::string& path, std::span<const std::string> overrides) {
  return read_run(path, overrides).config;
}

}  // namespace troika
