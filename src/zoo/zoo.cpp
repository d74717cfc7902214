#include "zoo/zoo.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/suggest.h"
#include "zoo/alexnet.h"
#include "zoo/autoencoder.h"
#include "zoo/bert.h"
#include "zoo/dcgan.h"
#include "zoo/googlenet.h"
#include "zoo/gpt2.h"
#include "zoo/inception.h"
#include "zoo/lenet.h"
#include "zoo/mlp.h"
#include "zoo/nmt.h"
#include "zoo/resnet.h"
#include "zoo/rnnlm.h"
#include "zoo/rnntc.h"
#include "zoo/vgg.h"

namespace troika::zoo {
namespace {

// make() returns one graph, or several for a GAN.
std::vector<NamedGraph> as_graphs(Graph graph) { return {{"train", std::move(graph)}}; }
std::vector<NamedGraph> as_graphs(std::vector<NamedGraph> graphs) { return graphs; }

template <class Options>
Entry entry(const char* name, const char* description, const Options& defaults) {
  return {name, description, describe(defaults), [defaults](const ModelRequest& request) {
            Options options = read_options(request.name, request.options, defaults);
            return Model{request.name, as_graphs(make(options, request.samples))};
          }};
}

Entry bidirectional(Entry made) {
  made.sees_whole_sequence = true;
  return made;
}

std::vector<Entry> make_entries() {
  return {
      entry("mlp", "fully connected layers, 784-2048-2048-10", Mlp{}),
      entry("lenet", "LeNet-5 with relu, for 28 x 28 images", Lenet{}),
      entry("alexnet", "AlexNet in one tower, 61 million parameters", Alexnet{}),
      entry("vgg16", "VGG with 16 layers, 138 million parameters", Vgg{}),
      entry("googlenet", "GoogLeNet with batch norm, 7.0 million parameters", Googlenet{}),
      entry("inception_v3", "Inception v3 for 299 x 299 images, 24 million parameters",
            Inception{}),
      entry("resnet18", "residual network with 18 layers, 12 million parameters",
            Resnet{.layers = 18}),
      entry("resnet50", "residual network with 50 layers, 26 million parameters",
            Resnet{.layers = 50}),
      entry("resnet101", "residual network with 101 layers, 45 million parameters",
            Resnet{.layers = 101}),
      entry("rnnlm", "language model of stacked LSTMs", Rnnlm{}),
      entry("rnntc", "text classifier of stacked LSTMs", Rnntc{}),
      entry("nmt", "translation by LSTM encoder and decoder with attention", Nmt{}),
      entry("gpt2", "GPT-2, a causal transformer, 124 million parameters", Gpt2{}),
      bidirectional(
          entry("bert", "BERT, a bidirectional transformer, 109 million parameters", Bert{})),
      entry("autoencoder", "compresses images to a short code and reconstructs them",
            Autoencoder{}),
      entry("dcgan", "images from noise: generator and discriminator, trained alternately",
            Dcgan{}),
  };
}

/// Law 2: batch norm has separate statistics per shard of the global batch.
void set_shards(Graph& graph, const Samples& samples) {
  for (Operator& op : graph.operators) {
    if (auto* norm = std::get_if<BatchNorm>(&op.op)) norm->shards = samples.shards;
  }
}

}  // namespace

// Built once and constant afterwards; the initialisation of a local static is thread-safe.
std::span<const Entry> entries() {
  static const std::vector<Entry> kEntries = make_entries();
  return kEntries;
}

bool sees_whole_sequence(std::string_view name) {
  auto found = std::ranges::find(entries(), name, &Entry::name);
  return found != entries().end() && found->sees_whole_sequence;
}

const Entry& find(std::string_view name) {
  auto found = std::ranges::find(entries(), name, &Entry::name);
  if (found != entries().end()) return *found;
  std::vector<std::string> names;
  for (const Entry& entry : entries()) names.push_back(entry.name);
  auto near = closest(name, names);
  throw Error(ErrorKind::usage,
              fmt::format("there is no model '{}'; {}", name,
                          near ? fmt::format("did you mean '{}'?", *near)
                               : fmt::format("there are {}", fmt::join(names, ", "))));
}

Model build(const ModelRequest& request) {
  Model model = find(request.name).build(request);
  for (NamedGraph& named : model.graphs) {
    named.graph.name = model.graphs.size() == 1 ? model.name : model.name + "." + named.name;
    // Here and not in make(): no model needs to know about shards.
    set_shards(named.graph, request.samples);
    verify(named.graph);
  }
  return model;
}

}  // namespace troika::zoo
