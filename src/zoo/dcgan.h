// DCGAN (Radford et al. 2016, arXiv:1511.06434): a generator of images from noise and a
// discriminator of images, trained in turns. Each graph holds both networks, one of them frozen.
// For 64 x 64 x 3 images the generator has 3,576,704 parameters and the discriminator 2,765,568.
// Images should be scaled to [-1, 1], the range of tanh.
#pragma once

#include "zoo/model.h"

namespace troika::zoo {

struct Dcgan {
  std::int64_t width = 64;
  std::int64_t noise = 100;

  static void fields(auto& self, auto&& visit) {
    visit("width", self.width, "channels next to the image; doubled each time the image is halved");
    visit("noise", self.noise, "size of the noise that an image is made from");
  }
};

/// "discriminator": inputs "input", "noise" [n,z], "target" [n,2] (real and fake side by side) and
/// "weight" [n]; output "logits" [n,2]. "generator": inputs "noise", "target" [n,1] and "weight";
/// outputs "image" and "logits". Feeds fill noise and target; the targets of the data are not used.
/// The discriminator has separate running statistics for real and fake images, so that no two
/// operators write one state; those of a frozen network do not change.
std::vector<NamedGraph> make(const Dcgan& options, const Samples& samples);

}  // namespace troika::zoo
