// Trains a small convolutional network on the built-in digits.
#include <troika/troika.h>

#include <cstdio>

int main() try {
  auto data = troika::data::open("digits:train");
  auto net = troika::nn::sequential(troika::nn::conv2d({.out = 32, .kernel = 3, .pad = 1}),
                                    troika::nn::relu(), troika::nn::max_pool({.size = 2}),
                                    troika::nn::flatten(), troika::nn::linear({.out = 10}));
  troika::Trainer trainer{net,
                          data,
                          troika::loss::cross_entropy(),
                          troika::optim::adamw({.learning_rate = 1e-3}),
                          {.global_batch = 64}};
  troika::Strategy plan = trainer.plan(troika::this_machine());  // or Strategy::load("plan.json")
  troika::FitResult result = trainer.fit(plan, {.epochs = 2});
  trainer.save("digits.safetensors");
  std::printf("loss %.4f after %.1f s\n", result.loss.value(), result.seconds);
} catch (const troika::Error& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return error.exit_code();
}
