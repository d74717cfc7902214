#include "config/reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/suggest.h"
#include "config/other_names.h"
#include "config/toml_text.h"

namespace troika::config {
namespace {

std::string_view parent(std::string_view path) {
  std::size_t dot = path.rfind('.');
  return dot == std::string_view::npos ? std::string_view{} : path.substr(0, dot);
}

std::string_view last_part(std::string_view path) { return path.substr(path.rfind('.') + 1); }

}  // namespace

std::string report(std::vector<Complaint> complaints, std::string_view file) {
  // Stable, because complaints about defaults have no place and keep the order of the checks.
  std::ranges::stable_sort(
      complaints, {}, [](const Complaint& complaint) { return place_in_order(complaint.where); });
  std::string text;
  for (const auto& [where, message] : complaints) {
    if (!text.empty()) text += '\n';
    if (where.source == Source::command_line) {
      text += fmt::format("command line: error: {}", message);
    } else {
      // A default has line 0; editors that parse this format count from 1.
      text += fmt::format("{}:{}:{}: error: {}", file, std::max(1u, where.line),
                          std::max(1u, where.column), message);
    }
  }
  return text;
}

std::string join_path(std::string_view path, std::string_view key) {
  return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
}

std::string row_path(std::string_view path, std::size_t row) {
  return fmt::format("{}[{}]", path, row);
}

Where Reader::origin(std::string_view path) const {
  auto found = origins_.find(path);
  return found == origins_.end() ? Where{} : found->second;
}

void Reader::refuse(std::string_view path, Where where, std::string message) {
  refused_paths_.emplace(path);
  complaints_.push_back({where, std::move(message)});
}

void Reader::refuse_together(std::initializer_list<std::string_view> paths, std::string message) {
  // A value that was refused on its own keeps its default, so a combination with it says nothing
  // about the file.
  auto refused = [this](std::string_view path) {
    return is_refused(path) || is_refused(parent(path));
  };
  if (std::ranges::any_of(paths, refused)) return;
  Where where = origin(parent(*paths.begin()));
  // The caller lists the value to blame first, but only a stated one has a place to point at.
  for (std::string_view path : paths) {
    if (!is_stated(path)) continue;
    where = origin(path);
    break;
  }
  complaints_.push_back({where, std::move(message)});
}

void Reader::refuse_unknown(std::string_view path, const Field& field,
                            const std::vector<std::string>& known_keys) {
  std::string key = printable(field.key);
  bool is_section = path.empty() && field.value.as<Table>();
  std::string message = is_section     ? fmt::format("unknown section [{}]", key)
                        : path.empty() ? fmt::format("unknown key '{}' outside all sections", key)
                                       : fmt::format("unknown key '{}' in [{}]", key, path);
  refuse(join_path(path, field.key), field.where, message + suggest(path, field, known_keys));
}

std::optional<std::string> Reader::suggest_by_habit(std::string_view path,
                                                    const Field& field) const {
  std::optional<std::string_view> ours = our_name(field.key);
  bool is_table = field.value.as<Table>() != nullptr;
  // A name without a dot is a section of ours, so it is suggested for a table only.
  if (!ours || is_table != (ours->find('.') == std::string_view::npos)) return std::nullopt;
  auto is_ours = [&](const std::string& known) {
    return known == *ours || (is_table && known.starts_with(fmt::format("{}.", *ours)));
  };
  // The list of other names is for run.toml; a reader of cluster.toml does not know those keys.
  if (std::ranges::none_of(known_paths_, is_ours)) return std::nullopt;
  if (is_table) return fmt::format("; did you mean [{}]?", *ours);
  return path == parent(*ours)
             ? fmt::format("; did you mean '{}'?", last_part(*ours))
             : fmt::format("; did you mean '{}' in [{}]?", last_part(*ours), parent(*ours));
}

std::string Reader::suggest(std::string_view path, const Field& field,
                            const std::vector<std::string>& known_keys) const {
  // From the most certain guess to the least: a name of another framework, the same name in another
  // section, a similar name here, a similar name anywhere.
  if (auto habit = suggest_by_habit(path, field)) return *habit;
  for (const std::string& known : known_paths_) {
    bool elsewhere = last_part(known) == field.key && !parent(known).empty();
    if (elsewhere) return fmt::format("; did you mean '{}' in [{}]?", field.key, parent(known));
  }
  bool is_section = path.empty() && field.value.as<Table>();
  if (auto near = closest(field.key, known_keys))
    return is_section ? fmt::format("; did you mean [{}]?", *near)
                      : fmt::format("; did you mean '{}'?", *near);
  std::vector<std::string> words;
  for (const std::string& known : known_paths_) words.emplace_back(last_part(known));
  auto near = closest(field.key, words);
  if (!near || is_section) return {};
  std::size_t index = static_cast<std::size_t>(std::ranges::find(words, *near) - words.begin());
  return fmt::format("; did you mean '{}' in [{}]?", *near, parent(known_paths_[index]));
}

}  // namespace troika::config
