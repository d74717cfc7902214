#include "zoo/bert.h"

#include <array>
#include <span>

#include "graph/layers_attention.h"
#include "zoo/inputs_and_loss.h"
#include "zoo/options.h"

namespace troika::zoo {
namespace {

// initializer_range and layer_norm_eps of the published configuration.
constexpr double kBertDeviation = 0.02;
constexpr double kEpsilon = 1e-12;
constexpr std::int64_t kUsualTokens = 512;
constexpr const char* kWord = "embeddings.word";

enum class Head { automatic, classify, masked };

std::span<const std::string_view> enum_names(Head) {
  static constexpr std::array<std::string_view, 3> kNames{"auto", "classify", "masked"};
  return kNames;
}

bool is_masked(const Bert& options, const Samples& samples) {
  Head head = parse_choice<Head>({"bert", "head"}, options.head);
  if (head != Head::automatic) return head == Head::masked;
  // One target per token means masked tokens, one per sample means classes.
  const Field* target = samples.find("target");
  return target && target->spec.shape.rank() == 1;
}

struct Encoder {
  GraphBuilder& b;
  const Bert& options;
  Init init = layers::normal(kBertDeviation);

  TensorId linear(const std::string& name, TensorId x, std::int64_t out) {
    return layers::linear(b, name, x, {.out = out, .init = init});
  }

  TensorId embeddings(const layers::EmbeddingOptions& words, TensorId tokens,
                      std::optional<TensorId> segment) {
    TensorId x = layers::embedding(b, kWord, tokens, words);
    x = b.add("embeddings.position", Position{}, {x});
    if (segment) {
      layers::EmbeddingOptions segments = words;
      segments.vocabulary = 2;
      x = layers::add(b, "embeddings.add", x,
                      layers::embedding(b, "embeddings.segment", *segment, segments));
    }
    x = layers::layer_norm(b, "embeddings.norm", x, kEpsilon);
    return layers::dropout(b, "embeddings.dropout", x, options.dropout);
  }

  TensorId add_and_norm(const std::string& name, TensorId x, TensorId branch) {
    branch = layers::dropout(b, name + ".dropout", branch, options.dropout);
    return layers::layer_norm(b, name + ".norm", layers::add(b, name + ".add", x, branch),
                              kEpsilon);
  }

  TensorId block(const std::string& name, TensorId x, std::optional<TensorId> mask) {
    TensorId y = layers::self_attention(
        b, name + ".attention", x,
        {.heads = options.heads, .mask = mask, .init = init, .project_init = init});
    x = add_and_norm(name + ".attention", x, y);
    y = linear(name + ".mlp.fc", x, 4 * options.width);
    y = layers::activation(b, name + ".mlp.gelu", y, ActivationKind::gelu);
    y = linear(name + ".mlp.proj", y, options.width);
    return add_and_norm(name + ".mlp", x, y);
  }

  /// The first token stands for the whole sequence ([CLS] in the paper).
  TensorId classifier(TensorId x, std::int64_t classes) {
    x = b.add("pooler.first", SliceTensor{.dim = 1, .begin = 0, .end = 1}, {x});
    x = linear("pooler", layers::flatten(b, "pooler.flatten", x), options.width);
    x = layers::activation(b, "pooler.tanh", x, ActivationKind::tanh);
    x = layers::dropout(b, "pooler.dropout", x, options.dropout);
    return linear("classifier", x, classes);
  }

  /// The decoder shares the word embedding and has its own bias.
  TensorId masked_head(TensorId x, std::int64_t vocabulary) {
    x = linear("head.transform", x, options.width);
    x = layers::activation(b, "head.gelu", x, ActivationKind::gelu);
    x = layers::layer_norm(b, "head.norm", x, kEpsilon);
    x = layers::linear(b, "head.decoder", x,
                       {.out = vocabulary, .bias = false, .parameters = kWord});
    // Apart from the linear layer, whose bias would take the name of the shared embedding.
    return b.add("head.decoder.bias", Bias{}, {x}, {.prefix = "head.decoder"});
  }
};

}  // namespace

Graph make(const Bert& options, const Samples& samples) {
  require_heads("bert", options.heads, options.width);
  bool masked = is_masked(options, samples);
  // The model reads every token of its input, so the tokens to predict must be masked there. The
  // weights say which ones.
  if (masked)
    require_field("bert", samples,
                  {"weight",
                   "masked samples: text:FILE or tokens:FILE, in the "
                   "C++ API opened with masked = true"});
  std::int64_t vocabulary =
      masked ? classes(samples, options.vocabulary) : input_vocabulary(samples, options.vocabulary);
  GraphBuilder b("bert");
  TokenModel model{"bert", kUsualTokens, masked ? TargetPer::token : TargetPer::sample};
  TrainingInputs inputs = token_inputs(b, samples, model);
  Shape tokens{samples.batch, sequence_length("bert", samples, kUsualTokens)};
  std::optional<TensorId> segment = optional_input(b, samples, "segment", {tokens, DType::i32});
  std::optional<TensorId> mask = optional_input(b, samples, "mask", {tokens, samples.dtype});

  Encoder encoder{b, options};
  layers::EmbeddingOptions words{.vocabulary = vocabulary,
                                 .width = options.width,
                                 .dtype = samples.dtype,
                                 .init = encoder.init};
  TensorId x = encoder.embeddings(words, inputs.input, segment);
  for (std::int64_t at = 0; at < options.layers; ++at)
    x = encoder.block("encoder." + std::to_string(at), x, mask);
  classify(
      b, inputs,
      masked ? encoder.masked_head(x, vocabulary) : encoder.classifier(x, classes(samples, 2)));
  return b.finish();
}

}  // namespace troika::zoo
