#include "config/load_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "config/check_run.h"
#include "config/override.h"
#include "config/run_keys.h"
#include "config/run_paths.h"
#include "config/text_file.h"

namespace troika {
namespace {

using namespace config;

std::vector<std::string> known_paths() {
  std::vector<std::string> paths;
  for (const Entry& entry : list_run({})) paths.push_back(entry.path);
  return paths;
}

/// Of two keys that exclude each other, one on the command line displaces one in the file.
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

[[noreturn]] void fail(const std::vector<Complaint>& complaints, const std::string& path) {
  throw Error(ErrorKind::usage, report(complaints, path));
}

}  // namespace

RunFile parse_run(std::string_view text, const std::string& path,
                  std::span<const std::string> overrides) {
  auto parsed = parse_toml(text, Source::file);
  if (auto error = std::get_if<SyntaxError>(&parsed)) fail({{error->where, error->message}}, path);
  Table& document = std::get<Table>(parsed);
  Reader reader(known_paths());
  apply_overrides(overrides, document, reader);
  displace_length(document);
  RunFile run;
  read_table(document, "", run_keys(), run.config, reader);
  check_run(run.config, reader);
  if (!reader.complaints().empty()) fail(reader.complaints(), path);
  run.origins = reader.origins();
  return run;
}

RunFile read_run(const std::string& path, std::span<const std::string> overrides) {
  RunFile run = parse_run(read_text(path), path, overrides);
  resolve_paths(run, std::filesystem::path(path).parent_path());
  return run;
}

RunConfig load_run(const std::string& path, std::span<const std::string> overrides) {
  return read_run(path, overrides).config;
}

}  // namespace troika
