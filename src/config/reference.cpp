#include "config/reference.h"

#include <fmt/format.h>

#include <vector>

#include "config/cluster_keys.h"
#include "config/key_kinds.h"
#include "config/run_keys.h"

namespace troika {
namespace {

using namespace config;

constexpr std::string_view kHead = R"(# Run files and cluster files

<!-- Written by `troika config reference`; edit src/config/run_keys.cpp or cluster_keys.cpp instead. -->

Both are [TOML](https://toml.io). `troika config init run.toml` writes a run file with every key and a comment on each,
`troika config check run.toml` reports every problem of one, `troika config show run.toml` prints each value and where it
comes from. `key=value` on the command line overrides a run file: `troika train run.toml optimizer.learning_rate=0.1`.
Paths in a file are relative to that file. A key without a default is off until it is set.

# run.toml
)";

constexpr std::string_view kClusterHead = R"(
# cluster.toml

What planning knows of machines. `troika config init --cluster cluster.toml` writes an example.
)";

constexpr std::string_view kColumns =
    "\n| key | type and range | default | meaning |\n|---|---|---|---|\n";

/// A bar would end the cell.
std::string cell(std::string_view text) {
  std::string escaped;
  for (char letter : text) escaped += letter == '|' ? std::string("\\|") : std::string(1, letter);
  return escaped;
}

std::string default_of(const Entry& entry) {
  if (entry.is_required) return "required";
  return entry.value.empty() || entry.value == "\"\"" ? "" : fmt::format("`{}`", cell(entry.value));
}

std::string row(const Entry& entry, std::string_view name) {
  std::string used_by = entry.used_by.empty() ? "" : fmt::format("; only with {}", entry.used_by);
  return fmt::format("| `{}` | {} | {} | {}{} |\n", name, cell(entry.allowed), default_of(entry),
                     cell(entry.doc), used_by);
}

/// Keys inside the tables of an array follow it, as groups[].match.
void add_rows(const std::vector<Entry>& entries, std::size_t skipped, std::string& text) {
  for (const Entry& entry : entries) {
    std::string name = entry.path.substr(skipped);
    text += row(entry, name);
    std::string mark = entry.allowed.starts_with("an array") ? "[]." : ".";
    for (const Entry& element : entry.elements)
      text += row(element, name + mark + element.path.substr(entry.path.size() + 1));
  }
}

/// One section for each table at the top level; keys outside all of them come first.
template <class S>
std::string sections(const KeyTable<S>& table, const S& defaults) {
  std::string text, plain;
  for (const Key<S>& key : table.keys) {
    std::vector<Entry> entries;
    list_table(defaults, KeyTable<S>{{key}}, "", entries);
    const std::string& name = key.label.name;
    bool is_section = key.allowed == kTable;
    bool is_array = !is_section && !entries.front().elements.empty();
    if (!is_section && !is_array) {
      add_rows(entries, 0, plain);
      continue;
    }
    text += fmt::format("\n## {}: {}\n{}", is_array ? "[[" + name + "]]" : "[" + name + "]",
                        cell(key.label.doc), kColumns);
    add_rows(is_array ? entries.front().elements : entries, name.size() + 1, text);
  }
  return (plain.empty() ? "" : std::string(kColumns) + plain) + text;
}

}  // namespace

std::string config_reference() {
  RunConfig defaults;
  defaults.kernels.backend = KernelsConfig::Backend::cpu;  // the same document from every build
  return std::string(kHead) + sections(run_keys(), defaults) + std::string(kClusterHead) +
         sections(cluster_keys(), Cluster{});
}

}  // namespace troika
