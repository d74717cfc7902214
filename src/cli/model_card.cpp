#include "cli/model_card.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "data/dataset.h"
#include "data/labelled_dataset.h"
#include "data/pair_dataset.h"
#include "data/sequence_dataset.h"
#include "train/feeds.h"

namespace troika::cli {
namespace {

constexpr std::int64_t kTokens = 32, kVocabulary = 96;

/// One kind of data: which sources give it, and what a sample of it looks like.
struct SampleData {
  std::vector<std::string> sources;  ///< Values for data.train; the example uses the first.
  std::string test;                  ///< Value for data.test of the example.
  zoo::Samples samples;
};

zoo::Samples samples_of(const std::vector<data::Field>& fields, std::int64_t classes) {
  zoo::Samples samples{.classes = classes, .vocabulary = kVocabulary};
  for (const data::Field& field : fields) samples.fields.push_back({field.name, field.spec});
  return samples;
}

/// Samples of the drawn digits, in another size.
zoo::Samples images(const Shape& shape) {
  std::vector<data::Field> fields = data::open("digits:train?size=1")->encoding().fields;
  fields.front().spec.shape = shape;
  return samples_of(fields, 10);
}

/// In the order in which an example prefers them: without files, small files, large files.
std::vector<SampleData> kinds_of_data(bool is_masked) {
  const std::string arrays = "npy:IMAGES.npy,LABELS.npy", files = "images:DIR";
  return {{{"digits:train", "idx:DIR", arrays}, "digits:test", images({1, 28, 28})},
          {{"cifar10:DIR", arrays, files}, "cifar10:DIR/test", images({3, 32, 32})},
          {{arrays, files}, "", images({3, 299, 299})},
          {{"csv:FILE"}, "", images({8})},
          {{"text:FILE", "tokens:FILE.bin"},
           "",
           samples_of(data::sequence_fields(kTokens, is_masked), kVocabulary)},
          {{"labelled:FILE"}, "", samples_of(data::labelled_fields(kTokens), 2)},
          {{"pairs:FILE"}, "", samples_of(data::pair_fields(kTokens, kTokens), kVocabulary)}};
}

bool fits(const std::string& model, const zoo::Samples& samples) {
  try {
    require_fed(zoo::build({.name = model, .samples = samples}), samples);
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// Shapes are without the batch. Inputs that the training itself fills are left out.
std::vector<Fact> list_inputs(const zoo::Model& model) {
  std::vector<Fact> inputs;
  std::set<std::string> seen{"weight"};
  for (const zoo::NamedGraph& named : model.graphs) {
    for (const zoo::Feed& feed : named.feeds) seen.insert(feed.input);
    for (TensorId id : named.graph.inputs) {
      const Tensor& input = named.graph[id];
      if (!seen.insert(input.name).second) continue;
      Shape sample;
      for (std::size_t at = 1; at < input.spec.shape.rank(); ++at)
        sample.push_back(input.spec.shape[at]);
      inputs.push_back({input.name, to_string(TensorSpec{sample, input.spec.dtype})});
    }
  }
  return inputs;
}

std::string write_example(const std::string& model, const std::string& train,
                          const std::string& test) {
  std::string text =
      fmt::format("[model]\nname = \"{}\"\n\n[data]\ntrain = \"{}\"\n", model, train);
  if (!test.empty()) text += fmt::format("test = \"{}\"\n", test);
  return text + "\n[train]\nglobal_batch = 32\nepochs = 1\n";
}

}  // namespace

std::int64_t count_parameters(const zoo::Model& model) {
  std::map<std::string, std::int64_t> sizes;
  for (const zoo::NamedGraph& named : model.graphs)
    for (const Parameter& parameter : named.graph.parameters)
      if (!parameter.state) sizes[parameter.name] = parameter.spec.shape.elements();
  std::int64_t count = 0;
  for (const auto& [name, size] : sizes) count += size;
  return count;
}

ModelCard make_model_card(const std::string& name) {
  const zoo::Entry& entry = zoo::find(name);
  zoo::Model usual = zoo::build({.name = name});
  ModelCard card{.name = name,
                 .description = entry.description,
                 .parameters = count_parameters(usual),
                 .inputs = list_inputs(usual),
                 .options = entry.options};
  bool is_tested = usual.graphs.front().feeds.empty();
  for (const SampleData& data : kinds_of_data(entry.sees_whole_sequence)) {
    if (!fits(name, data.samples)) continue;
    if (card.example.empty())
      card.example = write_example(name, data.sources.front(), is_tested ? data.test : "");
    for (const std::string& source : data.sources)
      if (std::ranges::count(card.data, source) == 0) card.data.push_back(source);
  }
  return card;
}

}  // namespace troika::cli
