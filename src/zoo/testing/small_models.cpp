#include "zoo/testing/small_models.h"

#include <map>

#include "base/error.h"

namespace troika::zoo {

Samples tokens(std::int64_t sequence, const Shape& target) {
  return {.batch = 2,
          .fields = {{"input", {{sequence}, DType::i32}}, {"target", {target, DType::i32}}},
          .classes = 20};
}

Samples images(const Shape& image) {
  return {.batch = 2,
          .fields = {{"input", {image, DType::f32}}, {"target", {{}, DType::i32}}},
          .classes = 5};
}

namespace {

std::map<std::string, ModelRequest> small_requests() {
  std::vector<Option> narrow{{"width", 0.1}}, thin{{"width", 0.1}, {"depth", 0.1}};
  std::vector<Option> transformer{
      {"layers", std::int64_t{2}}, {"heads", std::int64_t{2}}, {"width", std::int64_t{8}}};
  std::vector<Option> recurrent{{"hidden", std::int64_t{4}}, {"cell", "gru"}, {"dropout", 0.1}};
  std::map<std::string, ModelRequest> small{
      {"mlp", {.options = {{"hidden", "16,8"}, {"dropout", 0.1}}, .samples = images({1, 6, 6})}},
      {"lenet", {.options = narrow, .samples = images({1, 28, 28})}},
      {"alexnet", {.options = {{"width", 0.1}, {"lrn", true}}, .samples = images({3, 64, 64})}},
      {"vgg16", {.options = thin, .samples = images({3, 32, 32})}},
      {"googlenet", {.options = thin, .samples = images({3, 32, 32})}},
      {"inception_v3", {.options = thin, .samples = images({3, 75, 75})}},
      {"resnet18", {.options = thin, .samples = images({3, 32, 32})}},
      {"resnet50", {.options = thin, .samples = images({3, 64, 64})}},
      {"resnet101", {.options = thin, .samples = images({1, 28, 28})}},
      {"rnnlm", {.options = recurrent, .samples = tokens(6, {6})}},
      {"rnntc",
       {.options = {{"hidden", std::int64_t{4}}, {"bidirectional", true}},
        .samples = tokens(6, {})}},
      {"nmt",
       {.options = {{"width", std::int64_t{4}}, {"vocabulary", std::int64_t{30}}},
        .samples = tokens(6, {6})}},
      {"gpt2", {.options = transformer, .samples = tokens(6, {6})}},
      {"bert", {.options = transformer, .samples = tokens(6, {6})}},
      {"autoencoder", {.options = {{"hidden", "16,4"}}, .samples = images({1, 6, 6})}},
      {"dcgan",
       {.options = {{"width", std::int64_t{4}}, {"noise", std::int64_t{5}}},
        .samples = images({1, 28, 28})}},
  };
  for (auto& [name, request] : small) request.name = name;
  small["nmt"].samples.fields.push_back({"source", {{50}, DType::i32}});
  small["bert"].samples.fields.push_back({"weight", {{6}, DType::f32}});
  return small;
}

}  // namespace

ModelRequest small_request(const std::string& name) {
  std::map<std::string, ModelRequest> requests = small_requests();
  auto found = requests.find(name);
  TROIKA_CHECK(found != requests.end(), "no small version of " + name);
  return found->second;
}

}  // namespace troika::zoo
