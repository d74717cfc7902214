#include "config/show_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/run_keys.h"
#include "config/toml_text.h"

namespace troika {
namespace {

using namespace config;

constexpr std::size_t kCommentColumn = 44;

std::string_view section_of(const Entry& entry) {
  return std::string_view(entry.path).substr(0, entry.path.find('.'));
}

std::string_view key_of(const Entry& entry) {
  return std::string_view(entry.path).substr(entry.path.find('.') + 1);
}

std::string doc_of_section(std::string_view name) {
  for (const Key<RunConfig>& section : run_keys().keys) {
    if (section.label.name == name) return section.label.doc;
  }
  return {};
}

/// Calls open(section) before the first entry of each section, then write(entry) for each entry.
template <class Open, class Write>
void for_each_entry(const RunConfig& config, Open&& open, Write&& write) {
  std::string section;
  for (const Entry& entry : list_run(config)) {
    if (section != section_of(entry)) open(section = section_of(entry));
    write(entry);
  }
}

/// The effective run, each line ended by comment(entry).
template <class Comment>
std::string write_lines(const RunConfig& config, Comment&& comment) {
  std::string text;
  auto open = [&](const std::string& section) {
    text += fmt::format("{}[{}]\n", text.empty() ? "" : "\n", section);
  };
  for_each_entry(config, open, [&](const Entry& entry) {
    // A key that is not used would be refused when the text is read again.
    if (entry.value.empty() || !entry.applies) return;
    std::string line = fmt::format("{} = {}", key_of(entry), entry.value);
    std::string note = comment(entry);
    text +=
        note.empty() ? line + '\n' : fmt::format("{:<{}}# {}\n", line + ' ', kCommentColumn, note);
  });
  return text;
}

std::string describe_origin(const Origins& origins, const Entry& entry, std::string_view file) {
  auto found = origins.find(entry.path);
  Where where = found == origins.end() ? Where{} : found->second;
  switch (where.source) {
    case Source::standard:
      return "default";
    case Source::file:
      return fmt::format("{}:{}", on_one_line(file), where.line);
    case Source::command_line:
      return "command line";
  }
  return {};
}

RunConfig example_run() {
  RunConfig config;
  config.run.name = "digits";
  config.model.name = "lenet";
  config.data.train = "digits:train";
  config.data.test = "digits:test";
  config.train.epochs = 2;
  return config;
}

}  // namespace

std::string write_toml(const RunConfig& config) {
  return write_lines(config, [](const Entry&) { return std::string{}; });
}

std::string show_run(const RunFile& run, std::string_view file) {
  return write_lines(run.config,
                     [&](const Entry& entry) { return describe_origin(run.origins, entry, file); });
}

std::string run_template() {
  std::string text = "# A Troika run file. Keys that are commented out show further settings.\n";
  auto open = [&](const std::string& section) {
    text += fmt::format("\n[{}]  # {}\n", section, doc_of_section(section));
  };
  for_each_entry(example_run(), open, [&](const Entry& entry) {
    std::string used_by = entry.used_by.empty() ? "" : fmt::format("; with {}", entry.used_by);
    text += fmt::format("# {} ({}{})\n", entry.doc, entry.allowed, used_by);
    bool is_active = !entry.value.empty() && entry.applies;
    const std::string& value = entry.value.empty() ? entry.example : entry.value;
    text += fmt::format("{}{} = {}\n", is_active ? "" : "# ", key_of(entry), value);
  });
  return text;
}

}  // namespace troika
