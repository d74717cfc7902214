// The examples in the public headers: they compile and do what they say. The last test checks that
// each is here as it stands in its header.
#include <gtest/gtest.h>
#include <troika/troika.h>

#include <cctype>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace {

/// Files go to a folder of their own, since the examples name them without one.
class HeaderExample : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_);
    std::filesystem::current_path(folder_);
  }
  void TearDown() override {
    std::filesystem::current_path(before_);
    std::filesystem::remove_all(folder_);
  }

 private:
  std::filesystem::path before_ = std::filesystem::current_path();
  std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / ("troika-examples-" + std::to_string(::getpid()));
};

const troika::data::Source& digits() {
  static const troika::data::Source kDigits = troika::data::open("digits:train?size=256");
  return kDigits;
}

troika::Trainer small_trainer(const troika::TrainerOptions& options = {}) {
  auto net = troika::nn::sequential(troika::nn::flatten(), troika::nn::linear());
  return troika::Trainer{net, digits(), troika::loss::cross_entropy(), troika::optim::sgd(),
                         options};
}

TEST_F(HeaderExample, Troika) {
  auto train = troika::data::open("digits:train");
  auto net = troika::nn::sequential(troika::nn::flatten(), troika::nn::linear());
  troika::Trainer trainer{net, train, troika::loss::cross_entropy(), troika::optim::sgd()};
  trainer.fit(trainer.plan(troika::this_machine()), {.epochs = 2});
  trainer.save("digits.safetensors");
  EXPECT_GT(trainer.evaluate(train).accuracy.value(), 0.7);
  EXPECT_TRUE(std::filesystem::exists("digits.safetensors"));
}

namespace of_error {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wreturn-type"  // Only the real main may end without a value.
int main() try {
  troika::data::Source train = troika::data::open("csv:houses.csv");
} catch (const troika::Error& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return error.exit_code();
}
#pragma GCC diagnostic pop
}  // namespace of_error

TEST_F(HeaderExample, Error) { EXPECT_EQ(of_error::main(), 3); }

TEST_F(HeaderExample, Data) {
  troika::data::Source train = troika::data::open("digits:train");
  troika::data::Source test = troika::data::open("digits:test", {.like = train});
  EXPECT_EQ(test.classes(), train.classes());
}

TEST_F(HeaderExample, DataInMemory) {
  std::vector<float> x{0, 1, 2, 3}, y{1, 3, 5, 7};
  troika::data::Source line = troika::data::in_memory({.shape = {1}, .inputs = x, .numbers = y});
  EXPECT_EQ(line.size(), 4);
}

TEST_F(HeaderExample, DataHoldOut) {
  auto [train, validation] = troika::data::hold_out(troika::data::open("digits:train"), "10%");
  EXPECT_EQ(train.size(), 9 * validation.size());
}

TEST_F(HeaderExample, Network) {
  namespace nn = troika::nn;
  nn::Module net = nn::sequential(nn::conv2d({.out = 32, .kernel = 3, .pad = 1}), nn::relu(),
                                  nn::flatten(), nn::linear({.out = 10}).named("head"));
  troika::Trainer trainer{net, digits(), troika::loss::cross_entropy(), troika::optim::sgd()};
  EXPECT_EQ(trainer.parameters().back().name, "head.bias");
}

TEST_F(HeaderExample, Loss) {
  const troika::data::Source& images = digits();
  auto table = troika::data::in_memory({.shape = {1}, .inputs = {0, 1}, .numbers = {1, 3}});
  auto net = troika::nn::sequential(troika::nn::flatten(), troika::nn::linear());
  auto optimizer = troika::optim::sgd();
  troika::Trainer classifier{net, images, troika::loss::cross_entropy(), optimizer};
  troika::Trainer regression{net, table, troika::loss::mean_squared_error(), optimizer};
  troika::loss::Loss rebuild = troika::loss::mean_squared_error({.target = "input"});
  EXPECT_EQ(classifier.parameters().back().shape.at(0), 10);
  EXPECT_EQ(regression.parameters().back().shape.at(0), 1);
  EXPECT_NE(rebuild, troika::loss::mean_squared_error());
}

TEST_F(HeaderExample, Optimizer) {
  troika::optim::Optimizer optimizer =
      troika::optim::adamw({.learning_rate = 1e-3,
                            .weight_decay = 0.01,
                            .schedule = troika::optim::CosineOptions{.warmup = 0.05},
                            .groups = {{.match = "*.bias", .weight_decay = 0}}});
  EXPECT_EQ(optimizer.groups.size(), 1u);
}

TEST_F(HeaderExample, Strategy) {
  troika::Trainer trainer = small_trainer();
  troika::Machine two = troika::this_machine({.devices = 2});
  troika::Strategy halves = trainer.plan(two, "data");  // or "tensor", "spatial", ...
  halves.save("halves.json");
  trainer.fit(troika::Strategy::load("halves.json"));
  EXPECT_EQ(trainer.fit(troika::Strategy::load("halves.json")).step, 8);
}

TEST_F(HeaderExample, Options) {
  const troika::data::Source& train = digits();
  troika::TrainerOptions options{.global_batch = 32, .freeze = {"features.*"}};
  options.validation = troika::data::open("digits:test?size=200", {.like = train});
  options.freeze.clear();
  troika::Trainer trainer = small_trainer(options);
  troika::Strategy plan = troika::Strategy::single();
  trainer.fit(plan, {.epochs = 50, .patience = 3, .on_evaluation = [](const auto& score) {
                       std::printf("loss %.4f\n", score.loss);
                     }});
  EXPECT_EQ(trainer.evaluate(*options.validation).samples, 200);
}

TEST_F(HeaderExample, Trainer) {
  auto net = troika::nn::sequential(troika::nn::flatten(), troika::nn::linear());
  auto [train, validation] = troika::data::hold_out(digits(), "10%");
  troika::Trainer trainer{net,
                          train,
                          troika::loss::cross_entropy(),
                          troika::optim::adam(),
                          {.global_batch = 64, .validation = validation}};
  trainer.fit(trainer.plan(troika::this_machine()), {.epochs = 20, .patience = 3});
  trainer.save("net.safetensors");
  EXPECT_GT(trainer.evaluate(validation).accuracy.value(), 0.5);
}

/// Without white space, since the two sources are wrapped differently.
std::string squeezed(std::string text) {
  std::erase_if(text, [](unsigned char c) { return std::isspace(c); });
  return text;
}

/// A block of comment lines that are indented by three spaces, with a statement among them.
struct Example {
  std::string text;
  bool has_statement = false;
};

std::vector<Example> examples_in(const std::filesystem::path& header) {
  std::vector<Example> found(1);
  std::ifstream file(header);
  for (std::string line; std::getline(file, line);) {
    std::size_t slashes = line.find_first_not_of('/');
    bool is_indented =
        slashes != std::string::npos && slashes >= 2 && line.compare(slashes, 3, "   ") == 0;
    if (!is_indented) {
      found.emplace_back();
      continue;
    }
    found.back().text += line.substr(slashes) + '\n';
    found.back().has_statement = found.back().has_statement || line.ends_with(';');
  }
  std::erase_if(found, [](const Example& example) { return !example.has_statement; });
  return found;
}

TEST(HeaderExamples, AreThoseOfTheHeaders) {
  const std::filesystem::path own = __FILE__;
  std::ifstream file(own);
  std::string tested = squeezed({std::istreambuf_iterator<char>(file), {}});
  int examples = 0;
  for (const auto& header :
       std::filesystem::directory_iterator(own.parent_path() / "../../include/troika"))
    for (const Example& example : examples_in(header)) {
      EXPECT_NE(tested.find(squeezed(example.text)), std::string::npos)
          << header.path() << " has this example, which is not tested:\n"
          << example.text;
      ++examples;
    }
  EXPECT_GE(examples, 12);
}

}  // namespace
