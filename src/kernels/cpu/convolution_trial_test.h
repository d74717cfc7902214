// The errors of the kernels of one convolution algorithm, in f32, relative to the reference in f64.
#pragma once

#include <cmath>

#include "kernels/cpu/convolution.h"
#include "kernels/cpu/cpu.h"
#include "kernels/in_layout.h"
#include "kernels/op_trial.h"
#include "kernels/reference/reference.h"
#include "ops/testing/op_cases.h"

namespace troika {

inline constexpr int kTrialThreads = 2;
inline constexpr Phase kConvolutionPhases[] = {Phase::forward, Phase::backward_data,
                                               Phase::backward_weight};

inline OpCase square_case(const Shape& image, std::int64_t out, std::int64_t side,
                          std::int64_t pad) {
  return {"convolution",
          Conv2d{.out = out, .kernel = {side, side}, .pad = {pad, pad}, .pad_end = {pad, pad}},
          {{image, DType::f64}}};
}

/// One convolution in f64 by the reference, and in f32 by any offer.
class ConvolutionTrial {
 public:
  explicit ConvolutionTrial(const OpCase& row)
      : truth_(row, 3), rounded_(in_dtype(row, DType::f32), 3) {
    for (std::size_t at = 0; at < truth_.values.size(); ++at) {
      round(truth_.values[at], rounded_.values[at]);
      round(truth_.gradients[at], rounded_.gradients[at]);
    }
  }

  /// Calls visit(algorithm, error) for each kernel that offers(convolution, request) has for the
  /// phase; the error is relative to the largest element.
  template <class OffersOf, class Visit>
  void for_each(Phase phase, const OffersOf& offers_of, Visit&& visit) {
    truth_.run(phase, *reference_);
    CpuContext context{dnnl::engine(dnnl::engine::kind::cpu, 0), kTrialThreads};
    KernelKey key = rounded_.key(phase);
    Request request(key, context);
    Convolution convolution = convolution_of(std::get<Conv2d>(key.op), request).value();
    for (const Offer& offer : offers_of(convolution, request))
      visit(offer.candidate.algorithm, error_of(phase, offer));
  }

 private:
  static void round(HostTensor& exact, HostTensor& to) {
    to = converted(exact, DType::f32);
    exact = converted(to, DType::f64);
  }

  double error_of(Phase phase, const Offer& offer) {
    OpTrial trial = rounded_;
    const PhaseSpec& spec = trial.signature.at(phase);
    std::vector<InLayout> held;
    std::vector<DevicePointer> operands;
    for (std::size_t at = 0; at < spec.uses.size(); ++at) {
      HostTensor& host = trial.tensor(spec.uses[at]);
      operands.push_back(
          held.emplace_back(host.spec, offer.candidate.layouts[at]).load(host.bytes));
    }
    // A launch must not rely on the contents of its scratch.
    std::vector<std::byte> scratch(static_cast<std::size_t>(offer.candidate.scratch.count),
                                   std::byte{0xff});
    offer.make(offer.candidate)->launch(operands, scratch.data(), {});
    const Use& result = spec.uses.back();
    held.back().store(trial.tensor(result).bytes);
    return relative(trial.tensor(result), truth_.tensor(result));
  }

  static double relative(const HostTensor& got, const HostTensor& wanted) {
    double error = 0, largest = 0;
    for (std::int64_t i = 0; i < wanted.spec.shape.elements(); ++i) {
      if (std::isnan(got.get(i))) return INFINITY;  // which the largest of errors would not show
      error = std::max(error, std::abs(got.get(i) - wanted.get(i)));
      largest = std::max(largest, std::abs(wanted.get(i)));
    }
    return error / largest;
  }

  std::unique_ptr<Backend> reference_ = make_reference_backend(),
                           backend_ = make_cpu_backend({.threads = kTrialThreads});
  OpTrial truth_, rounded_;
};

}  // namespace troika
