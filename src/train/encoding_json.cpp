#include "train/encoding_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json_reason.h"

namespace troika {
namespace {

using Json = nlohmann::ordered_json;
using data::TextUnit;
using data::WordVocabulary;

constexpr const char* kWords = "words";
constexpr const char* kCharacters = "characters";

Json json_of(const WordVocabulary& vocabulary) {
  return {{"split", vocabulary.unit() == TextUnit::word ? kWords : kCharacters},
          {"entries", vocabulary.words()}};
}

WordVocabulary vocabulary_in(const Json& json) {
  TextUnit unit = json.at("split") == kWords ? TextUnit::word : TextUnit::character;
  return {unit, json.at("entries").get<std::vector<std::string>>()};
}

data::Field field_in(const Json& json) {
  return {json.at("name"),
          {parse_shape(json.at("shape").dump()), parse_dtype(json.at("dtype").get<std::string>())}};
}

/// Returns an empty list if the key is missing: names are optional, and old checkpoints have none.
std::vector<std::string> names_in(const Json& json, const char* key) {
  return json.value(key, std::vector<std::string>{});
}

data::Encoding encoding_in(const Json& json) {
  data::Encoding encoding{.classes = json.at("classes"), .masked = json.value("masked", false)};
  for (const Json& field : json.at("fields")) encoding.fields.push_back(field_in(field));
  if (json.contains("normalization")) {
    const Json& stored = json["normalization"];
    encoding.normalization = {stored.at("mean").get<std::vector<float>>(),
                              stored.at("deviation").get<std::vector<float>>()};
  }
  if (json.contains("characters"))
    encoding.characters.emplace(std::string_view(json["characters"].get_ref<const std::string&>()));
  if (json.contains("words")) encoding.words = vocabulary_in(json["words"]);
  if (json.contains("target_words")) encoding.target_words = vocabulary_in(json["target_words"]);
  encoding.labels = names_in(json, "labels");
  encoding.columns = names_in(json, "columns");
  encoding.targets = names_in(json, "targets");
  return encoding;
}

}  // namespace

std::string to_json(const data::Encoding& encoding) {
  Json json{{"fields", Json::array()}, {"classes", encoding.classes}};
  for (const data::Field& field : encoding.fields)
    json["fields"].push_back({{"name", field.name},
                              {"dtype", to_string(field.spec.dtype)},
                              {"shape", Json::parse(to_string(field.spec.shape))}});
  if (encoding.normalization)
    json["normalization"] = {{"mean", encoding.normalization->mean},
                             {"deviation", encoding.normalization->deviation}};
  if (encoding.characters) json["characters"] = encoding.characters->characters();
  if (encoding.words) json["words"] = json_of(*encoding.words);
  if (encoding.target_words) json["target_words"] = json_of(*encoding.target_words);
  if (!encoding.labels.empty()) json["labels"] = encoding.labels;
  if (!encoding.columns.empty()) json["columns"] = encoding.columns;
  if (!encoding.targets.empty()) json["targets"] = encoding.targets;
  if (encoding.masked) json["masked"] = true;
  return json.dump();
}

data::Encoding parse_encoding(std::string_view json) {
  try {
    return encoding_in(Json::parse(json));
  } catch (const Json::exception& error) {
    throw Error(ErrorKind::file, fmt::format("the checkpoint has no valid sample encoding: {}",
                                             json_reason(error.what())));
  }
}

}  // namespace troika
