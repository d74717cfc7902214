// All of Troika's C++ API:
//
//   auto train = troika::data::open("digits:train");
//   auto net = troika::nn::sequential(troika::nn::flatten(), troika::nn::linear());
//   troika::Trainer trainer{net, train, troika::loss::cross_entropy(), troika::optim::sgd()};
//   trainer.fit(trainer.plan(troika::this_machine()), {.epochs = 2});
//   trainer.save("digits.safetensors");
#pragma once

#include <troika/data.h>
#include <troika/error.h>
#include <troika/loss.h>
#include <troika/nn.h>
#include <troika/optim.h>
#include <troika/strategy.h>
#include <troika/trainer.h>
#include <troika/training.h>
