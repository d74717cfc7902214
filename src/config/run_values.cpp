#include "config/run_values.h"

#include <fmt/format.h>

#include <cmath>

#include "base/number_text.h"
#include "config/key_kinds.h"
#include "strategy/ready.h"

namespace troika::config {
namespace {

std::optional<std::vector<double>> numbers_in(const Value& value, const NumberRange& range) {
  if (auto number = number_in(value, range)) return std::vector{*number};
  auto array = value.as<Array>();
  if (!array || array->empty()) return std::nullopt;
  std::vector<double> numbers;
  for (const Value& element : *array) {
    auto number = number_in(element, range);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

std::optional<Normalize> normalize_in(const Value& value) {
  if (auto word = text_in(value)) {
    if (*word == "auto") return Normalize{};
    if (*word == "none") return Normalize{.kind = Normalize::Kind::none};
  }
  auto pair = value.as<Array>();
  if (!pair || pair->size() != 2) return std::nullopt;
  auto mean = numbers_in((*pair)[0], {});
  auto deviation = numbers_in((*pair)[1], {.min = 0, .min_open = true});
  if (!mean || !deviation || mean->size() != deviation->size()) return std::nullopt;
  return Normalize{Normalize::Kind::given, *mean, *deviation};
}

std::string print_numbers(const std::vector<double>& numbers) {
  if (numbers.size() == 1) return toml_text(numbers.front());
  std::vector<std::string> printed;
  printed.reserve(numbers.size());
  for (double number : numbers) printed.push_back(toml_text(number));
  return toml_list(printed);
}

std::string print_normalize(const Normalize& normalize) {
  switch (normalize.kind) {
    case Normalize::Kind::automatic:
      return toml_text(std::string_view("auto"));
    case Normalize::Kind::none:
      return toml_text(std::string_view("none"));
    case Normalize::Kind::given:
      return toml_list({print_numbers(normalize.mean), print_numbers(normalize.deviation)});
  }
  return {};
}

std::optional<PortRange> ports_in(const Value& value) {
  std::optional<std::string> text = text_in(value);
  if (!text) return std::nullopt;
  if (*text == "auto") return PortRange{};
  std::string_view rest = *text;
  auto first = take_number<std::int64_t>(rest);
  if (!first || !rest.starts_with('-')) return std::nullopt;
  auto last = parse_number<std::int64_t>(rest.substr(1));
  bool is_range = last && *first >= 1 && *first <= *last && *last <= 65535;
  return is_range ? std::optional(PortRange{*first, *last}) : std::nullopt;
}

std::string print_ports(const PortRange& range) {
  return range == PortRange{} ? toml_text(std::string_view("auto"))
                              : toml_text(fmt::format("{}-{}", range.first, range.last));
}

const std::vector<std::string>& ready_plans() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names(ready_names().begin(), ready_names().end());
    names.emplace_back("auto");
    return names;
  }();
  return kNames;
}

const KeyTable<PlanConfig>& degree_keys() {
  constexpr IntegerRange kDegree{.min = 1, .max = 65536};
  static const KeyTable<PlanConfig> kKeys{{
      integer(&PlanConfig::data, {"data", "number of parts of the batch"}, kDegree),
      integer(&PlanConfig::tensor, {"tensor", "number of parts of each operator"}, kDegree),
      integer(&PlanConfig::pipeline,
              {"pipeline", "number of pipeline stages; only 1 in this version"}, kDegree),
  }};
  return kKeys;
}

bool is_plan_name(const std::string& name) {
  return name.ends_with(".json") || std::ranges::count(ready_plans(), name) > 0;
}

bool read_plan(const Value& value, const std::string& path, PlanConfig& plan, Reader& reader) {
  plan = PlanConfig{};
  if (auto fields = value.as<Table>()) {
    plan.name.clear();
    read_table(*fields, path, degree_keys(), plan, reader);
    return true;
  }
  auto name = text_in(value);
  if (!name || !is_plan_name(*name)) return false;
  plan.name = *name;
  return true;
}

std::string print_plan(const PlanConfig& plan, const std::string& path) {
  if (!plan.name.empty()) return toml_text(plan.name);
  std::vector<Entry> degrees;
  list_table(plan, degree_keys(), path, degrees);
  return inline_table(degrees, path);
}

}  // namespace

Key<RunSection> name_of_run(std::string RunSection::*member, const Label& label) {
  auto parse = [](const Value& value) {
    auto name = text_in(value);
    bool is_folder_name = name && name->find('/') == std::string::npos && *name != "." &&
                          *name != ".." && name->find('\0') == std::string::npos;
    return is_folder_name ? name : std::nullopt;
  };
  return scalar(member, label,
                {"the name of a folder, without slashes", parse,
                 [](const std::string& name) { return toml_text(name); }});
}

Key<DataConfig> normalize(Normalize DataConfig::*member, const Label& label) {
  return scalar(member, label,
                {"\"auto\", \"none\" or [mean, deviation] with deviations above 0", normalize_in,
                 print_normalize});
}

Key<TrainConfig> condition(std::optional<Condition> TrainConfig::*member, const Label& label) {
  auto parse = [](const Value& value) {
    auto text = text_in(value);
    return text ? parse_condition(*text) : std::nullopt;
  };
  return scalar(
      member, label,
      {"METRIC (<, <=, > or >=) NUMBER, with a metric of " + describe_choices(words_of<Metric>()),
       parse, [](const Condition& value) { return toml_text(to_string(value)); }});
}

Key<ParallelConfig> threads(std::optional<std::int64_t> ParallelConfig::*member,
                            const Label& label) {
  constexpr IntegerRange kRange{.min = 1, .max = 4096};
  Key<ParallelConfig> key{.label = label, .allowed = "\"auto\" or " + describe(kRange)};
  key.read = [=](const Value& value, const std::string&, ParallelConfig& target, Reader&) {
    target.*member = integer_in(value, kRange);
    return (target.*member).has_value() || text_in(value) == "auto";
  };
  key.reset = [=](ParallelConfig& target) { (target.*member).reset(); };
  key.list = [=](const ParallelConfig& from, Entry entry, std::vector<Entry>& entries) {
    auto count = from.*member;
    entry.value = count ? toml_text(*count) : toml_text(std::string_view("auto"));
    entries.push_back(std::move(entry));
  };
  return key;
}

Key<ParallelConfig> memory(std::optional<Bytes> ParallelConfig::*member, const Label& label) {
  Key<ParallelConfig> key{.label = label, .allowed = "\"auto\" or a size such as \"8GiB\""};
  key.read = [=](const Value& value, const std::string&, ParallelConfig& target, Reader&) {
    (target.*member).reset();
    std::optional<std::string> text = text_in(value);
    if (!text || *text == "auto") return text.has_value();
    try {
      target.*member = parse_bytes(*text);
    } catch (const Error&) {
      return false;
    }
    return (target.*member)->count > 0;
  };
  key.reset = [=](ParallelConfig& target) { (target.*member).reset(); };
  key.list = [=](const ParallelConfig& from, Entry entry, std::vector<Entry>& entries) {
    auto size = from.*member;
    entry.value = toml_text(std::string_view(size ? std::to_string(size->count) + "B" : "auto"));
    entries.push_back(std::move(entry));
  };
  return key;
}

Key<HeartbeatConfig> ports(PortRange HeartbeatConfig::*member, const Label& label) {
  return scalar(member, label,
                {"\"auto\" or two ports such as \"20000-20099\"", ports_in, print_ports});
}

Key<ParallelConfig> plan(PlanConfig ParallelConfig::*member, const Label& label) {
  Key<ParallelConfig> key{.label = label,
                          .allowed = describe_choices(ready_plans()) +
                                     ", a file such as \"plan.json\", or { data = 2, tensor = 2 }",
                          .choices = ready_plans()};
  key.read = [=](const Value& value, const std::string& path, ParallelConfig& target,
                 Reader& reader) { return read_plan(value, path, target.*member, reader); };
  key.reset = [=](ParallelConfig& target) { target.*member = PlanConfig{}; };
  key.list = [=](const ParallelConfig& from, Entry entry, std::vector<Entry>& entries) {
    entry.value = print_plan(from.*member, entry.path);
    list_table(PlanConfig{}, degree_keys(), entry.path, entry.elements);
    entries.push_back(std::move(entry));
  };
  return key;
}

bool read_option(const Field& field, ModelConfig& model) {
  const Value& value = field.value;
  std::optional<OptionValue> option;
  if (auto flag = value.as<bool>()) option = *flag;
  if (auto integer = value.as<std::int64_t>()) option = *integer;
  if (auto number = value.as<double>(); number && std::isfinite(*number)) option = *number;
  if (auto text = value.as<std::string>()) option = *text;
  if (option) model.options.push_back({field.key, *option});
  return option.has_value();
}

void list_options(const ModelConfig& model, const std::string& path, std::vector<Entry>& entries) {
  for (const ModelOption& option : model.options) {
    std::string value = std::visit([](const auto& v) { return toml_text(v); }, option.value);
    entries.push_back({.path = join_path(path, toml_key(option.name)),
                       .value = value,
                       .doc = "an option of the model",
                       .allowed = "see the model"});
  }
}

}  // namespace troika::config
