// Regression on numbers of one's own: in memory, or a table such as
//   own_numbers houses.csv      (a header; the last column is predicted)
#include <troika/troika.h>

#include <cmath>
#include <cstdio>
#include <vector>

namespace {

/// The height of a wave at 400 places.
troika::data::Source wave() {
  std::vector<float> places, heights;
  for (int at = 0; at < 400; ++at) {
    places.push_back(static_cast<float>(at) / 200 - 1);
    heights.push_back(std::sin(3 * places.back()));
  }
  return troika::data::in_memory({.shape = {1}, .inputs = places, .numbers = heights});
}

}  // namespace

int main(int argc, char** argv) try {
  namespace nn = troika::nn;
  auto samples =
      argc > 1 ? troika::data::open(std::string("csv:") + argv[1] + "?task=regress") : wave();
  auto [train, validation] = troika::data::hold_out(samples, "20%");
  // linear() without a size has one output for each number to predict.
  auto net = nn::sequential(nn::linear({.out = 32}), nn::tanh(), nn::linear());
  troika::Trainer trainer{net,
                          train,
                          troika::loss::mean_squared_error(),
                          troika::optim::adam({.learning_rate = 0.01}),
                          {.global_batch = 32, .validation = validation}};
  troika::FitResult result =
      trainer.fit(trainer.plan(troika::this_machine()), {.epochs = 200, .patience = 20});
  std::printf("mean absolute error %.4f after %d steps\n",
              result.validation->absolute_error.value(), static_cast<int>(result.step));
  if (argc > 1) return 0;

  // Rows without an answer: `like` says what the network was trained on.
  auto rows = troika::data::in_memory({.shape = {1}, .inputs = {-0.5F, 0.25F}, .like = train});
  for (const troika::SamplePrediction& found : trainer.predict(rows))
    std::printf("predicted %.3f\n", found.numbers[0]);
} catch (const troika::Error& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return error.exit_code();
}
