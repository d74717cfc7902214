// One key of a configuration table: its name, where it is stored, what it may be, and one line of
// documentation. Reading, checking, showing, the template and the reference all work from lists of
// such keys.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/document.h"
#include "config/reader.h"
#include "config/toml_text.h"

namespace troika::config {

/// One key with its present value, as the writers see it.
struct Entry {
  std::string path;   ///< "optimizer.schedule.kind"
  std::string value;  ///< TOML text; empty: not set.
  std::string doc;
  std::string allowed;
  std::string example;  ///< TOML text for a template, if there is no default.
  std::string used_by;  ///< "sgd, lars"; empty: always used.
  bool applies = true;  ///< False if other keys of the table make it unused.
  bool is_required = false;
  std::vector<Entry> elements = {};  ///< Of an array of tables: the keys of each table.
};

/// The documentation of a key.
struct Label {
  std::string name;
  std::string doc;
  std::string example = {};
};

/// A key of the table that is stored as an S.
template <class S>
struct Key {
  Label label;
  std::string allowed;               ///< "a number above 0": follows "must be".
  std::vector<std::string> choices;  ///< If the value is one of a few words, for suggestions.
  bool is_required = false;
  /// The key of the same table that decides whether this one is used; empty: always used.
  std::string selector;
  std::string used_by;
  std::function<bool(const S&)> applies = [](const S&) { return true; };
  /// Stores the value, or returns false if it is not what is allowed.
  std::function<bool(const Value&, const std::string& path, S&, Reader&)> read;
  std::function<void(S&)> reset;
  std::function<void(const S&, Entry, std::vector<Entry>&)> list;
};

template <class S>
struct KeyTable {
  std::vector<Key<S>> keys;
  /// Keys that are not in the list, for a table that is open; empty: they are refused.
  std::function<bool(const Field&, S&)> read_other = {};
  std::function<void(const S&, const std::string& path, std::vector<Entry>&)> list_other = {};
};

/// Error messages, independent of S so that all tables word them alike.
struct Expectation {
  std::string path;
  std::string allowed;
  std::vector<std::string> choices;
};
void refuse_value(const Value& value, const Expectation& expected, Reader& reader);
void refuse_missing(const std::string& path, const std::string& allowed, Reader& reader);
void refuse_unused(const Field& field, const std::string& path, const std::string& used_by,
                   Reader& reader);

template <class S>
void list_table(const S& from, const KeyTable<S>& table, const std::string& path,
                std::vector<Entry>& entries) {
  for (const Key<S>& key : table.keys) {
    Entry entry{join_path(path, key.label.name),
                {},
                key.label.doc,
                key.allowed,
                key.label.example,
                key.used_by,
                key.applies(from),
                key.is_required};
    key.list(from, std::move(entry), entries);
  }
  if (table.list_other) table.list_other(from, path, entries);
}

/// Refuses a value that is not used because of another key. If the command line changed that other
/// key, the value of the file is dropped instead.
template <class S>
void settle_unused(const Table& fields, const std::string& path, const Key<S>& key, S& target,
                   Reader& reader) {
  const Field* field = find(fields, key.label.name);
  bool is_undecided = reader.is_refused(join_path(path, key.selector));
  if (!field || is_undecided || key.applies(target)) return;
  const Field* selector = find(fields, key.selector);
  bool overruled = selector && selector->where.source > field->where.source;
  std::string at = join_path(path, key.label.name);
  if (!overruled) return refuse_unused(*field, at, key.used_by, reader);
  key.reset(target);
  reader.forget_origin(at);
}

template <class S>
void read_field(const Field& field, const std::string& path, const KeyTable<S>& table, S& target,
                Reader& reader) {
  std::string at = join_path(path, toml_key(field.key));
  auto key = std::ranges::find(table.keys, field.key,
                               [](const Key<S>& k) -> const std::string& { return k.label.name; });
  if (key != table.keys.end()) {
    reader.set_origin(at, field.value.where);
    if (!key->read(field.value, at, target, reader))
      refuse_value(field.value, {at, key->allowed, key->choices}, reader);
  } else if (table.read_other) {
    reader.set_origin(at, field.value.where);
    if (!table.read_other(field, target))
      refuse_value(field.value, {at, "an integer, a number, a string, true or false", {}}, reader);
  } else {
    std::vector<std::string> names;
    for (const Key<S>& known : table.keys) names.push_back(known.label.name);
    reader.refuse_unknown(path, field, names);
  }
}

template <class S>
void read_table(const Table& fields, const std::string& path, const KeyTable<S>& table, S& target,
                Reader& reader) {
  for (const Field& field : fields) read_field(field, path, table, target, reader);
  for (const Key<S>& key : table.keys) {
    if (key.is_required && !find(fields, key.label.name))
      refuse_missing(join_path(path, key.label.name), key.allowed, reader);
    settle_unused(fields, path, key, target, reader);
  }
}

}  // namespace troika::config
