#include "zoo/inception.h"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "zoo/conv_norm.h"
#include "zoo/inputs_and_loss.h"

namespace troika::zoo {
namespace {

using Options = ConvNormOptions;

constexpr layers::Extent2 kRow{1, 7}, kColumn{7, 1}, kRowPad{0, 3}, kColumnPad{3, 0};

/// The modules A to E follow figures 5, 10, 6, 10 and 7 of the paper.
class InceptionBody {
 public:
  InceptionBody(GraphBuilder& b, double width) : b_(b), width_(width) {}

  TensorId unit(const std::string& name, TensorId x, Options options) {
    options.out = scaled(options.out, width_);
    // Epsilon and deviation are those of torchvision.
    options.epsilon = 1e-3;
    options.init = layers::normal(0.1);
    return conv_norm(b_, {name + ".conv", name + ".bn", name + ".relu"}, x, options);
  }

  TensorId stem(TensorId x) {
    x = unit("Conv2d_1a_3x3", x, {.out = 32, .kernel = 3, .stride = 2});
    x = unit("Conv2d_2a_3x3", x, {.out = 32, .kernel = 3});
    x = unit("Conv2d_2b_3x3", x, {.out = 64, .kernel = 3, .pad = 1});
    x = max_pool("maxpool1", x);
    x = unit("Conv2d_3b_1x1", x, {.out = 80});
    x = unit("Conv2d_4a_3x3", x, {.out = 192, .kernel = 3});
    return max_pool("maxpool2", x);
  }

  /// 35 x 35: 5 x 5 and doubled 3 x 3 kernels.
  TensorId module_a(const std::string& name, TensorId x, std::int64_t pool_out) {
    TensorId one = unit(name + ".branch1x1", x, {.out = 64});
    TensorId five = unit(name + ".branch5x5_1", x, {.out = 48});
    five = unit(name + ".branch5x5_2", five, {.out = 64, .kernel = 5, .pad = 2});
    TensorId three = double_three(name, x, {.out = 96, .kernel = 3, .pad = 1});
    return join(name, {one, five, three, average(name, x, pool_out)});
  }

  /// 35 x 35 to 17 x 17.
  TensorId module_b(const std::string& name, TensorId x) {
    TensorId three = unit(name + ".branch3x3", x, {.out = 384, .kernel = 3, .stride = 2});
    TensorId twice = double_three(name, x, {.out = 96, .kernel = 3, .stride = 2});
    return join(name, {three, twice, max_pool(name + ".pool", x)});
  }

  /// 17 x 17: 7 x 7 kernels as rows and columns.
  TensorId module_c(const std::string& name, TensorId x, std::int64_t middle) {
    TensorId one = unit(name + ".branch1x1", x, {.out = 192});
    TensorId seven = unit(name + ".branch7x7_1", x, {.out = middle});
    seven = row(name + ".branch7x7_2", seven, middle);
    seven = column(name + ".branch7x7_3", seven, 192);
    TensorId twice = unit(name + ".branch7x7dbl_1", x, {.out = middle});
    twice = column(name + ".branch7x7dbl_2", twice, middle);
    twice = row(name + ".branch7x7dbl_3", twice, middle);
    twice = column(name + ".branch7x7dbl_4", twice, middle);
    twice = row(name + ".branch7x7dbl_5", twice, 192);
    return join(name, {one, seven, twice, average(name, x, 192)});
  }

  /// 17 x 17 to 8 x 8.
  TensorId module_d(const std::string& name, TensorId x) {
    TensorId three = unit(name + ".branch3x3_1", x, {.out = 192});
    three = unit(name + ".branch3x3_2", three, {.out = 320, .kernel = 3, .stride = 2});
    TensorId seven = unit(name + ".branch7x7x3_1", x, {.out = 192});
    seven = row(name + ".branch7x7x3_2", seven, 192);
    seven = column(name + ".branch7x7x3_3", seven, 192);
    seven = unit(name + ".branch7x7x3_4", seven, {.out = 192, .kernel = 3, .stride = 2});
    return join(name, {three, seven, max_pool(name + ".pool", x)});
  }

  /// 8 x 8: branches that end in a row and a column side by side.
  TensorId module_e(const std::string& name, TensorId x) {
    TensorId one = unit(name + ".branch1x1", x, {.out = 320});
    TensorId three = unit(name + ".branch3x3_1", x, {.out = 384});
    three = fork(name + ".branch3x3_2", three);
    TensorId twice = unit(name + ".branch3x3dbl_1", x, {.out = 448});
    twice = unit(name + ".branch3x3dbl_2", twice, {.out = 384, .kernel = 3, .pad = 1});
    twice = fork(name + ".branch3x3dbl_3", twice);
    return join(name, {one, three, twice, average(name, x, 192)});
  }

 private:
  TensorId double_three(const std::string& name, TensorId x, const Options& last) {
    x = unit(name + ".branch3x3dbl_1", x, {.out = 64});
    x = unit(name + ".branch3x3dbl_2", x, {.out = 96, .kernel = 3, .pad = 1});
    return unit(name + ".branch3x3dbl_3", x, last);
  }
  TensorId row(const std::string& name, TensorId x, std::int64_t out) {
    return unit(name, x, {.out = out, .kernel = kRow, .pad = kRowPad});
  }
  TensorId column(const std::string& name, TensorId x, std::int64_t out) {
    return unit(name, x, {.out = out, .kernel = kColumn, .pad = kColumnPad});
  }
  TensorId fork(const std::string& name, TensorId x) {
    TensorId across = unit(name + "a", x, {.out = 384, .kernel = {1, 3}, .pad = {0, 1}});
    TensorId down = unit(name + "b", x, {.out = 384, .kernel = {3, 1}, .pad = {1, 0}});
    return join(name, {across, down});
  }
  TensorId max_pool(const std::string& name, TensorId x) {
    return layers::max_pool(b_, name, x, {.size = 3, .stride = 2});
  }
  TensorId average(const std::string& name, TensorId x, std::int64_t out) {
    x = layers::average_pool(b_, name + ".pool", x, {.size = 3, .stride = 1, .pad = 1});
    return unit(name + ".branch_pool", x, {.out = out});
  }
  TensorId join(const std::string& name, const std::vector<TensorId>& parts) {
    return layers::concat(b_, name, parts, 1);
  }

  GraphBuilder& b_;
  double width_;
};

/// `size` is pool_out of module A or `middle` of module C; E has none.
struct SizedModule {
  const char* name;
  std::int64_t size;
};

constexpr std::array<SizedModule, 3> kModulesA{
    {{"Mixed_5b", 32}, {"Mixed_5c", 64}, {"Mixed_5d", 64}}};
constexpr std::array<SizedModule, 4> kModulesC{
    {{"Mixed_6b", 128}, {"Mixed_6c", 160}, {"Mixed_6d", 160}, {"Mixed_6e", 192}}};
constexpr std::array<SizedModule, 2> kModulesE{{{"Mixed_7b", 0}, {"Mixed_7c", 0}}};

/// The first modules of a stage, for a depth below 1. A larger depth adds none.
std::span<const SizedModule> kept(std::span<const SizedModule> modules, double depth) {
  auto count = static_cast<std::size_t>(scaled(static_cast<std::int64_t>(modules.size()), depth));
  return modules.first(std::min(count, modules.size()));
}

}  // namespace

Graph make(const Inception& options, const Samples& samples) {
  GraphBuilder b("inception_v3");
  // 75 is the smallest image of which module D still gets 3 rows.
  TrainingInputs inputs =
      float_inputs(b, samples, image_shape("inception_v3", samples, {3, 299, 299}, 75));
  InceptionBody body(b, options.width);
  TensorId x = body.stem(inputs.input);
  for (const auto& [name, size] : kept(kModulesA, options.depth)) x = body.module_a(name, x, size);
  x = body.module_b("Mixed_6a", x);
  for (const auto& [name, size] : kept(kModulesC, options.depth)) x = body.module_c(name, x, size);
  x = body.module_d("Mixed_7a", x);
  for (const auto& [name, size] : kept(kModulesE, options.depth)) x = body.module_e(name, x);
  x = layers::global_average_pool(b, "avgpool", x);
  x = layers::dropout(b, "dropout", x, options.dropout);
  add_loss(b, inputs,
           layers::linear(b, "fc", x, {.out = answers(samples, 1000), .init = layers::normal(0.1)}),
           {"inception_v3", options.loss});
  return b.finish();
}

}  // namespace troika::zoo
