// Trains a network, saves it, and gives its frozen features a new head that learns from few
// samples.
#include <troika/troika.h>

#include <cstdio>

namespace nn = troika::nn;

namespace {

nn::Module features() {
  return nn::sequential(nn::conv2d({.out = 8, .kernel = 5, .pad = 2}), nn::relu(), nn::max_pool(),
                        nn::conv2d({.out = 16, .kernel = 5}), nn::relu(), nn::max_pool(),
                        nn::flatten())
      .named("features");
}

}  // namespace

int main() try {
  using troika::loss::cross_entropy;
  auto many = troika::data::open("digits:train?size=2000");
  troika::Trainer first{nn::sequential(features(), nn::linear().named("head")), many,
                        cross_entropy(), troika::optim::adam()};
  first.fit(troika::Strategy::single(), {.epochs = 3});
  first.save("features.safetensors");

  // Other digits, drawn from another seed.
  auto few = troika::data::open("digits:train?size=256&seed=7", {.like = many});
  auto test = troika::data::open("digits:test?size=500&seed=7", {.like = many});
  auto net = nn::sequential(features(), nn::linear({.out = 32}).named("hidden"), nn::relu(),
                            nn::linear().named("new_head"));
  troika::Trainer second{net,
                         few,
                         cross_entropy(),
                         troika::optim::adam(),
                         {.global_batch = 32, .freeze = {"features.*"}, .test = test}};
  for (const std::string& name : second.start_from("features.safetensors"))
    std::printf("fresh: %s\n", name.c_str());
  troika::FitResult result = second.fit(troika::Strategy::single(), {.epochs = 5});
  std::printf("accuracy %.3f with %d samples\n", result.test->accuracy.value(),
              static_cast<int>(few.size()));
} catch (const troika::Error& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return error.exit_code();
}
