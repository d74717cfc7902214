#include "lower/testing/redistribution_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace troika {
namespace {

std::int32_t wrap(std::int32_t number, std::int32_t at) {
  return at == 0 ? number : (number % at + at) % at;
}

class Text {
 public:
  Text(const RedistributionRequest& request, const Redistribution& result, std::int32_t device,
       const TextOrigin& origin)
      : request_(request), result_(result), device_(device), origin_(origin) {
    first_ = static_cast<std::int32_t>(
        std::ranges::lower_bound(result.buffers, device, {}, &PlacedBuffer::device) -
        result.buffers.begin());
  }

  std::string lines() const {
    std::string text;
    for (const Step& step : result_.steps)
      if (step.device == device_) text += line(step) + "\n";
    for (std::size_t reader = 0; reader < request_.readers.size(); ++reader)
      for (std::size_t tile = 0; tile < request_.readers[reader].size(); ++tile)
        if (request_.readers[reader][tile].device == device_)
          text += fmt::format("read {} {}\n", reader, buffer(result_.reads[reader][tile]));
    return text;
  }

 private:
  std::string box(std::int32_t id) const {
    if (id < 0) return "[]";
    std::string text;
    for (int dim = 0; dim < request_.frame.dims; ++dim) {
      const Box& box = result_.boxes[id];
      std::int32_t begin = box.begin[dim], extent = box.end[dim] - begin;
      if (dim == 0) begin = wrap(begin - origin_.begin, origin_.extent);
      text += fmt::format("{}{}:{}", dim == 0 ? "" : ",", begin, begin + extent);
    }
    return "[" + text + "]";
  }

  std::string buffer(std::int32_t id) const {
    constexpr std::array kNames{"written", "value", "vector", "block", "zeros"};
    const PlacedBuffer& made = result_.buffers[id];
    std::string text = fmt::format("{}{}{}", kNames[static_cast<std::size_t>(made.kind)],
                                   id - first_, box(made.box));
    if (made.kind == PlacedBuffer::Kind::block)
      text += fmt::format(" at {} of {}", made.offset, buffer(made.origin));
    return text;
  }

  std::string line(const Step& step) const {
    constexpr std::array kNames{"sum", "assemble", "start", "finish"};
    std::string text = fmt::format("{} {} {}", step.moment,
                                   kNames[static_cast<std::size_t>(step.kind)], buffer(step.out));
    for (std::int32_t at = 0; at < step.input_count; ++at) {
      const StepInput& input = result_.inputs[step.first_input + at];
      text += at == 0 ? " <- " : ", ";
      std::string own = buffer(input.buffer);
      text += own + (own.find(box(input.box)) == std::string::npos ? box(input.box) : "");
    }
    return step.message < 0 ? text : text + call(step);
  }

  /// Members of collectives in a circle that begins with the device; of a broadcast as they are.
  std::string call(const Step& step) const {
    const Message& message = result_.messages[step.message];
    std::string text = fmt::format(" {} of {} among", to_string(message.kind), message.elements);
    std::int32_t first = message.kind == Collective::broadcast ? 0 : step.member;
    for (std::int32_t at = 0; at < message.members; ++at) {
      std::int32_t member = (first + at) % message.members;
      text += fmt::format(
          " {}", wrap(result_.members[message.first_member + member].device - origin_.device,
                      origin_.devices));
    }
    return text;
  }

  const RedistributionRequest& request_;
  const Redistribution& result_;
  std::int32_t device_, first_ = 0;
  const TextOrigin& origin_;
};

}  // namespace

std::string describe(const RedistributionRequest& request, const Redistribution& result,
                     std::int32_t device, const TextOrigin& origin) {
  return Text(request, result, device, origin).lines();
}

}  // namespace troika
