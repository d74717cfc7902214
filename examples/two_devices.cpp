// Two devices in one process, a validation set, early stopping, and the best weights.
#include <troika/troika.h>

#include <cstdio>
#include <limits>

namespace nn = troika::nn;

int main() try {
  auto [train, validation] =
      troika::data::hold_out(troika::data::open("digits:train?size=2000"), "10%");
  auto test = troika::data::open("digits:test?size=500", {.like = train});
  auto net = nn::sequential(nn::flatten(), nn::linear({.out = 64}), nn::relu(), nn::linear());
  troika::Trainer trainer{net,
                          train,
                          troika::loss::cross_entropy(),
                          troika::optim::adam({.learning_rate = 3e-3}),
                          {.global_batch = 50, .validation = validation}};

  // "data" shares out the samples, "tensor" the weights; the result is that of one device.
  troika::Machine machine = troika::this_machine({.devices = 2});
  troika::Strategy plan = trainer.plan(machine, "data");

  double best = std::numeric_limits<double>::infinity();
  auto keep_best = [&](const troika::Score& score) {
    std::printf("validation loss %.4f  accuracy %.3f\n", score.loss, score.accuracy.value());
    if (score.loss >= best) return;
    best = score.loss;
    trainer.save("best.safetensors");
  };
  troika::FitResult result =
      trainer.fit(plan, {.epochs = 30, .patience = 3, .on_evaluation = keep_best});
  if (result.stopped_early) std::printf("no better loss in 3 epochs\n");

  trainer.load("best.safetensors");
  std::printf("%d devices, test accuracy %.3f\n", machine.devices,
              trainer.evaluate(test).accuracy.value());
} catch (const troika::Error& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return error.exit_code();
}
