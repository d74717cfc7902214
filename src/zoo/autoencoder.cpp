#include "zoo/autoencoder.h"

#include "graph/layers.h"
#include "zoo/inputs_and_loss.h"
#include "zoo/options.h"

namespace troika::zoo {

Graph make(const Autoencoder& options, const Samples& samples) {
  std::vector<std::int64_t> sizes = parse_sizes({"autoencoder", "hidden"}, options.hidden);
  GraphBuilder b("autoencoder");
  TensorId image = b.input(
      "input", {batched(samples.batch, input_shape("autoencoder", samples, {784})), samples.dtype});
  TensorId weight = b.input("weight", {{samples.batch}, samples.dtype});
  TensorId pixels = layers::flatten(b, "flatten", image), x = pixels;
  auto connect = [&](const std::string& name, std::int64_t out) {
    x = layers::linear(b, name, x, {.out = out, .init = layers::he_normal(b.shape(x).back())});
  };
  for (std::size_t at = 0; at < sizes.size(); ++at) {
    std::string number = std::to_string(at + 1);
    connect("encoder." + number, sizes[at]);
    x = layers::relu(b, "encoder." + number + ".relu", x);
  }
  b.output("code", x);
  // Mirrors the encoder; the last layer, back to the pixels, has no relu.
  for (std::size_t at = sizes.size() - 1; at > 0; --at) {
    std::string number = std::to_string(at + 1);
    connect("decoder." + number, sizes[at - 1]);
    x = layers::relu(b, "decoder." + number + ".relu", x);
  }
  connect("decoder.1", b.shape(pixels).back());
  b.output("image", x);
  b.loss("loss", MeanError{}, {x, pixels, weight});
  return b.finish();
}

}  // namespace troika::zoo
