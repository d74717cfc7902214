// The kinds of keys. Each function makes a Key from the member that stores it, its label, and the
// allowed values.
#pragma once

#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "config/choices.h"
#include "config/key.h"
#include "config/period.h"
#include "config/toml_text.h"

namespace troika::config {

/// The type of a value without std::optional.
template <class M>
struct Stored {
  using Type = M;
};
template <class T>
struct Stored<std::optional<T>> {
  using Type = T;
};
template <class M>
using StoredType = typename Stored<M>::Type;

struct IntegerRange {
  std::int64_t min = std::numeric_limits<std::int64_t>::min();
  std::int64_t max = std::numeric_limits<std::int64_t>::max();
};

/// Both ends belong to the range unless they are declared open.
struct NumberRange {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  bool min_open = false;
  bool max_open = false;
};

std::string describe(const IntegerRange& range);
std::string describe(const NumberRange& range);
/// "one of "a", "b", "c""
std::string describe_choices(const std::vector<std::string>& words);
/// "an array of tables with a, b or c"
std::string describe_rows(const std::vector<std::string>& keys);
/// "a period such as "500 steps" or "5%""
std::string describe_units(const std::vector<PeriodUnit>& units);

std::optional<std::int64_t> integer_in(const Value& value, const IntegerRange& range);
std::optional<double> number_in(const Value& value, const NumberRange& range);
std::optional<std::string> text_in(const Value& value);
std::optional<std::vector<std::string>> texts_in(const Value& value);
/// A period in one of the units; zero only where `allow_zero`.
struct PeriodRule {
  std::vector<PeriodUnit> units;
  bool allow_zero = false;
};
std::optional<Period> period_in(const Value& value, const PeriodRule& rule);

/// Entries of one table as { a = 1, b = 2 }, relative to `path`.
std::string inline_table(const std::vector<Entry>& entries, const std::string& path);

/// How one kind of value is read and printed.
template <class T>
struct Form {
  std::string allowed;
  std::function<std::optional<T>(const Value&)> parse;
  std::function<std::string(const T&)> print;
};

template <class M, class T>
std::string print_stored(const M& stored, const Form<T>& form) {
  if constexpr (std::is_same_v<M, T>) {
    return form.print(stored);
  } else {
    return stored ? form.print(*stored) : std::string{};
  }
}

template <class S, class M>
Key<S> scalar(M S::*member, const Label& label, Form<StoredType<M>> form) {
  Key<S> key{.label = label, .allowed = form.allowed};
  key.read = [member, form](const Value& value, const std::string&, S& target, Reader&) {
    auto parsed = form.parse(value);
    if (parsed) target.*member = std::move(*parsed);
    return parsed.has_value();
  };
  key.reset = [member](S& target) { target.*member = S{}.*member; };
  key.list = [member, form](const S& from, Entry entry, std::vector<Entry>& entries) {
    entry.value = print_stored(from.*member, form);
    entries.push_back(std::move(entry));
  };
  return key;
}

template <class S, class M>
Key<S> integer(M S::*member, const Label& label, IntegerRange range) {
  return scalar(member, label,
                {describe(range), [range](const Value& value) { return integer_in(value, range); },
                 [](std::int64_t number) { return toml_text(number); }});
}

template <class S, class M>
Key<S> number(M S::*member, const Label& label, NumberRange range) {
  return scalar(member, label,
                {describe(range), [range](const Value& value) { return number_in(value, range); },
                 [](double value) { return toml_text(value); }});
}

template <class S>
Key<S> flag(bool S::*member, const Label& label) {
  auto parse = [](const Value& value) {
    auto stated = value.as<bool>();
    return stated ? std::optional(*stated) : std::nullopt;
  };
  return scalar(member, label,
                {"true or false", parse, [](bool value) { return toml_text(value); }});
}

template <class S>
Key<S> text(std::string S::*member, const Label& label) {
  return scalar(member, label,
                {"a string", text_in, [](const std::string& value) { return toml_text(value); }});
}

/// A string that is not empty; an empty one is "not set".
template <class S>
Key<S> full_text(std::string S::*member, const Label& label) {
  auto parse = [](const Value& value) {
    auto stated = text_in(value);
    return stated && !stated->empty() ? stated : std::nullopt;
  };
  return scalar(member, label, {"a string that is not empty", parse, [](const std::string& value) {
                                  return value.empty() ? value : toml_text(value);
                                }});
}

std::string print_texts(const std::vector<std::string>& texts);

template <class S>
Key<S> texts(std::vector<std::string> S::*member, const Label& label) {
  return scalar(member, label, {"an array of strings", texts_in, print_texts});
}

template <class S, class M>
Key<S> period(M S::*member, const Label& label, const PeriodRule& rule) {
  return scalar(
      member, label,
      {describe_units(rule.units), [rule](const Value& value) { return period_in(value, rule); },
       [](const Period& value) { return toml_text(to_string(value)); }});
}

template <class E>
std::vector<std::string> words_of() {
  std::vector<std::string> words;
  for (const Choice<E>& choice : choices(E{})) words.emplace_back(choice.word);
  return words;
}

template <class S, class M>
Key<S> choice(M S::*member, const Label& label) {
  using E = StoredType<M>;
  auto parse = [](const Value& value) {
    auto word = text_in(value);
    return word ? from_word<E>(*word) : std::nullopt;
  };
  Key<S> key = scalar(member, label, {describe_choices(words_of<E>()), parse, [](const E& value) {
                                        return toml_text(to_word(value));
                                      }});
  key.choices = words_of<E>();
  return key;
}

template <class S>
std::vector<std::string> names_of(const KeyTable<S>& table) {
  std::vector<std::string> names;
  for (const Key<S>& key : table.keys) names.push_back(key.label.name);
  return names;
}

/// The name of a table in the message that it is required.
inline constexpr const char* kTable = "a table";

/// A table inside the table; its keys are listed one by one.
template <class S, class N>
Key<S> nested(N S::*member, const Label& label, const KeyTable<N>& table) {
  Key<S> key{.label = label, .allowed = kTable};
  key.read = [member, &table](const Value& value, const std::string& path, S& target,
                              Reader& reader) {
    auto fields = value.as<Table>();
    if (fields) read_table(*fields, path, table, target.*member, reader);
    return fields != nullptr;
  };
  key.reset = [member](S& target) { target.*member = N{}; };
  key.list = [member, &table](const S& from, const Entry& entry, std::vector<Entry>& entries) {
    list_table(from.*member, table, entry.path, entries);
  };
  return key;
}

/// An array of tables, printed on one line.
template <class S, class N>
Key<S> rows(std::vector<N> S::*member, const Label& label, const KeyTable<N>& table) {
  Key<S> key{.label = label, .allowed = describe_rows(names_of(table))};
  key.read = [member, &table](const Value& value, const std::string& path, S& target,
                              Reader& reader) {
    auto values = value.as<Array>();
    if (!values) return false;
    for (const Value& row : *values) {
      auto fields = row.as<Table>();
      if (!fields) return false;
      reader.set_origin(row_path(path, (target.*member).size()), row.where);
      read_table(*fields, path, table, (target.*member).emplace_back(), reader);
    }
    return true;
  };
  key.reset = [member](S& target) { (target.*member).clear(); };
  key.list = [member, &table](const S& from, Entry entry, std::vector<Entry>& entries) {
    std::vector<std::string> printed;
    for (const N& row : from.*member) {
      std::vector<Entry> fields;
      list_table(row, table, entry.path, fields);
      printed.push_back(inline_table(fields, entry.path));
    }
    entry.value = toml_list(printed);
    list_table(N{}, table, entry.path, entry.elements);
    entries.push_back(std::move(entry));
  };
  return key;
}

template <class S>
Key<S> required(Key<S> key) {
  key.is_required = true;
  return key;
}

/// A choice in the same table that decides whether a key is used.
template <class S, class E>
struct Selector {
  std::string key;
  E S::*member;
};

/// The key is used only where the selector is one of `values`.
template <class S, class E>
Key<S> only_for(const Selector<S, E>& selector, std::vector<E> values, Key<S> key) {
  key.selector = selector.key;
  for (E value : values)
    key.used_by += (key.used_by.empty() ? "" : ", ") + std::string(to_word(value));
  key.applies = [member = selector.member, values = std::move(values)](const S& from) {
    return std::ranges::find(values, from.*member) != values.end();
  };
  return key;
}

}  // namespace troika::config
