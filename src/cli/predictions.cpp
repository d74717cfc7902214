#include "cli/predictions.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "cli/predict_samples.h"
#include "cli/prediction_file.h"
#include "train/masked_tokens.h"
#include "train/translate.h"

namespace troika::cli {
namespace {

using Json = nlohmann::ordered_json;
using data::SampleKind;

constexpr std::string_view kMaskText = "[MASK]";

void print_translations(SavedRun& run, const PredictRequest& request, Console& console) {
  std::unique_ptr<data::Dataset> samples = requested_samples(run, request);
  std::int64_t batch = batch_for(run, *samples);
  Predictor predictor(run, batch);
  const data::WordVocabulary& words = *run.samples.target_words;
  translate(predictor.live(), *samples, batch, [&](const Translation& found) {
    std::string text = words.decode(found.tokens);
    if (!request.json) return console.print(text);
    Json json{{"index", found.index}, {"predicted", text}};
    if (request.prompt.empty()) json["target"] = words.decode(found.target);
    console.print(json.dump());
  });
}

/// A token as text, or its number where there are no characters.
Json token_text(const SavedRun& run, std::int32_t token) {
  const std::optional<data::Vocabulary>& characters = run.samples.characters;
  if (!characters || token >= characters->size()) return token;
  return characters->decode(std::span(&token, 1));
}

/// Text becomes tokens by the characters; without them the prompt is token numbers.
std::vector<std::int32_t> encode_prompt(const std::string& prompt, const SavedRun& run) {
  if (run.samples.characters) return run.samples.characters->encode(prompt);
  std::istringstream words(prompt);
  std::vector<std::int32_t> tokens;
  for (std::int64_t token = 0; words >> token;) {
    if (token < 0 || token >= run.samples.classes) break;
    tokens.push_back(static_cast<std::int32_t>(token));
  }
  if (!words.eof() || tokens.empty())
    throw Error(
        ErrorKind::usage,
        fmt::format(
            "the model was trained on token files, which have no characters; give --prompt as "
            "numbers from 0 to {}, such as \"12 7 300\"",
            run.samples.classes - 1));
  return tokens;
}

/// The tokens of a text with [MASK] in it.
std::vector<std::int32_t> encode_masked(std::string_view text, const SavedRun& run) {
  std::vector<std::int32_t> tokens;
  auto mask = static_cast<std::int32_t>(run.samples.classes - 1);
  while (true) {
    std::size_t found = std::min(text.find(kMaskText), text.size());
    // Blanks between masks are characters of a text, but only separate token numbers.
    bool is_blank = text.substr(0, found).find_first_not_of(" \t\n") == std::string_view::npos;
    if (found > 0 && !(is_blank && !run.samples.characters)) {
      std::vector<std::int32_t> part = encode_prompt(std::string(text.substr(0, found)), run);
      tokens.insert(tokens.end(), part.begin(), part.end());
    }
    if (found == text.size()) break;
    tokens.push_back(mask);
    text.remove_prefix(found + kMaskText.size());
  }
  auto context = static_cast<std::size_t>(run.samples.find("input")->spec.shape[0]);
  if (tokens.size() > context)
    throw Error(ErrorKind::usage, fmt::format("the prompt has {} tokens, but the model sees {} at "
                                              "once; shorten it",
                                              tokens.size(), context));
  return tokens;
}

void fill_prompt(const SavedRun& run, const PredictRequest& request, Console& console) {
  std::vector<std::int32_t> tokens = encode_masked(request.prompt, run);
  SavedRun padded = run;
  const data::Field& input = *run.samples.find("input");
  // A prompt is shorter than the context. Training samples fill it and have no mask, so the model
  // is built with one here.
  padded.samples.fields.push_back({"mask", {input.spec.shape, DType::f32}});
  Predictor predictor(padded, 1);
  std::string text;
  for (std::int32_t token :
       fill_masks(predictor.live(), tokens, static_cast<std::int32_t>(run.samples.classes - 1))) {
    Json shown = token_text(run, token);
    text += shown.is_string() ? shown.get<std::string>() : fmt::format(" {}", token);
  }
  console.print(request.json ? Json{{"prompt", request.prompt}, {"text", text}}.dump() : text);
}

void print_masked(SavedRun& run, const PredictRequest& request, Console& console) {
  std::unique_ptr<data::Dataset> samples = open_samples(run, request.uri);
  std::int64_t batch = batch_for(run, *samples);
  Predictor predictor(run, batch);
  if (!request.json) console.print("   index  position  predicted  probability  target");
  predict_masked(predictor.live(), *samples, batch, [&](const MaskedToken& found) {
    Json predicted = token_text(run, found.predicted), target = token_text(run, found.target);
    if (request.json)
      return console.print(Json{
          {"index", found.index},
          {"position", found.position},
          {"predicted", predicted},
          {"probability", found.probability},
          {"target", target}}.dump());
    console.print(fmt::format("{:>8} {:>9} {:>10} {:>12.4f} {:>7}{}", found.index, found.position,
                              predicted.dump(), found.probability, target.dump(),
                              predicted == target ? "" : "  wrong"));
  });
}

std::vector<std::int32_t> first_tokens(const SavedRun& run, const std::string& prompt) {
  if (!prompt.empty()) return encode_prompt(prompt, run);
  const std::optional<data::Vocabulary>& characters = run.samples.characters;
  // Without a prompt, writing starts as after a line break, or from token 0 if there is none.
  return {characters ? std::max<std::int32_t>(characters->token(U'\n'), 0) : 0};
}

void write_text(const SavedRun& run, const PredictRequest& request, Console& console) {
  Predictor predictor(run, 1);
  TokenWriter writer(predictor.live(), first_tokens(run, request.prompt), request.writing);
  std::string text;
  if (!request.json) console.write(request.prompt);
  for (std::int64_t count = 0; count < request.tokens; ++count) {
    std::int32_t token = writer.next();
    Json shown = token_text(run, token);
    text += shown.is_string() ? shown.get<std::string>() : fmt::format(" {}", token);
    if (!request.json) console.write(text), text.clear();
  }
  console.print(request.json ? Json{{"prompt", request.prompt}, {"text", text}}.dump() : "");
}

void refuse_out(const PredictRequest& request) {
  if (request.out.empty()) return;
  throw Error(ErrorKind::usage,
              "--out is for classes and numbers, but this model writes text; remove it and "
              "redirect the output");
}

}  // namespace

void predict(SavedRun& run, const PredictRequest& request, Console& console) {
  if (!request.out.empty()) require_prediction_file(request.out);
  switch (run.samples.kind()) {
    case SampleKind::images:
      if (!request.prompt.empty())
        throw Error(ErrorKind::usage,
                    fmt::format("'{}' is not a language model, so it cannot use --prompt; name "
                                "samples with --data",
                                run.checkpoint.string()));
      return run.samples.predicts_numbers() ? print_numbers(run, request, console)
                                            : print_classes(run, request, console);
    case SampleKind::labelled:
      return print_classes(run, request, console);
    case SampleKind::pairs:
      refuse_out(request);
      return print_translations(run, request, console);
    case SampleKind::sequence:
      refuse_out(request);
      if (!run.samples.masked) return write_text(run, request, console);
      return request.prompt.empty() ? print_masked(run, request, console)
                                    : fill_prompt(run, request, console);
  }
}

}  // namespace troika::cli
