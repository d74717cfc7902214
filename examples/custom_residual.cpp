// A residual network of one's own, a learning-rate schedule, no weight decay on biases, and
// progress on the terminal.
#include <troika/troika.h>

#include <cstdio>

namespace nn = troika::nn;

namespace {

nn::Module convolution(std::int64_t out, std::int64_t stride) {
  return nn::sequential(
      nn::conv2d({.out = out, .kernel = 3, .stride = stride, .pad = 1, .bias = false}),
      nn::batch_norm());
}

nn::Module block(std::int64_t out, std::int64_t stride) {
  auto body = nn::sequential(convolution(out, stride), nn::relu(), convolution(out, 1));
  if (stride == 1) return nn::sequential(nn::residual(body), nn::relu());
  auto shortcut = nn::conv2d({.out = out, .kernel = 1, .stride = stride});
  return nn::sequential(nn::residual({.body = body, .shortcut = shortcut}), nn::relu());
}

}  // namespace

int main() try {
  auto train = troika::data::open("digits:train?size=2000", {.augment = {"crop 2"}});
  auto test = troika::data::open("digits:test?size=500", {.like = train});
  auto net = nn::sequential(convolution(8, 1), nn::relu(), block(8, 1), block(16, 2), block(32, 2),
                            nn::global_average_pool(), nn::linear());

  auto optimizer = troika::optim::sgd({.learning_rate = 0.1,
                                       .momentum = 0.9,
                                       .weight_decay = 1e-4,
                                       .schedule = troika::optim::CosineOptions{.warmup = 0.1},
                                       .groups = {{.match = "*.bias", .weight_decay = 0}}});
  troika::Trainer trainer{net, train, troika::loss::cross_entropy(), optimizer, {.test = test}};
  auto report = [](const troika::StepMetrics& at) {
    std::printf("step %3d of %d  loss %.4f  rate %.4f\n", static_cast<int>(at.step),
                static_cast<int>(at.total_steps), at.loss, at.learning_rate);
  };
  troika::FitResult result = trainer.fit(trainer.plan(troika::this_machine()),
                                         {.epochs = 3, .report_every = 20, .on_step = report});
  std::printf("accuracy %.3f after %.1f s\n", result.test->accuracy.value(), result.seconds);
} catch (const troika::Error& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return error.exit_code();
}
