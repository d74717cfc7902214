// JSON of why a plan is as it is.
#include <nlohmann/json.hpp>

#include "cli/explanation_report.h"
#include "cli/text_table.h"
#include "setup/plan_summary.h"

namespace troika::cli {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Split& split) {
  Json factors = Json::array();
  for (const Factor& factor : split.factors)
    factors.push_back(
        {{"axis", factor.axis}, {"degree", factor.degree}, {"stride", factor.stride}});
  return {{"text", describe(split)}, {"factors", factors}, {"first", split.first}};
}

Json json_of(const OperatorTime& time) {
  return {{"forward_ms", milliseconds(time.forward)},
          {"backward_ms", milliseconds(time.backward)},
          {"update_ms", milliseconds(time.update)},
          {"messages_ms", milliseconds(time.messages)},
          {"waiting_ms", milliseconds(time.waiting)}};
}

Json json_of(const OperatorCost& cost, const Explanation& splits) {
  Json one{{"name", cost.name}, {"split", json_of(cost.split)}, {"device", cost.device.value}};
  one.update(json_of(cost.predicted));
  if (cost.measured) one["measured"] = json_of(*cost.measured);
  const ExplainedOperator* op = splits.find(cost.name);
  if (op == nullptr) return one;
  if (op->as_data_parallel)
    one["as_data_parallel_ms"] = milliseconds(*op->as_data_parallel - splits.period);
  one["alternatives"] = Json::array();
  for (const SplitAlternative& alternative : op->alternatives)
    one["alternatives"].push_back({{"split", json_of(alternative.split)},
                                   {"difference_ms", milliseconds(alternative.difference)},
                                   {"fits", alternative.fits}});
  return one;
}

Json json_of(const LayerTraffic& layer, const PlanExplanation& why) {
  const ParameterSplit& split = layer.best(why.devices);
  Json one{{"operator", why.operators[layer.op].name},
           {"gradient_bytes", layer.gradient_bytes(why.devices).count},
           {"activation_bytes", split.bytes(why.devices).count},
           {"axis", split.axis},
           {"fewer", layer.prefers_parameters(why.devices) ? "activations" : "gradients"}};
  if (auto flip = layer.flip_batch(why.devices))
    one["flip_batch"] = *flip * static_cast<double>(why.batch);
  if (auto flip = layer.flip_devices()) one["flip_devices"] = *flip;
  return one;
}

Json json_of_path(const PlanExplanation& why) {
  Json path = Json::array();
  for (const PathShare& share : why.path) {
    Json parts = Json::array();
    for (const PathShare::Part& part : share.parts) {
      Json one{{"ms", milliseconds(part.time)}};
      if (part.op >= 0) one["operator"] = why.operators[as_index(part.op)].name;
      parts.push_back(one);
    }
    path.push_back({{"kind", troika::to_string(share.sort)},
                    {"ms", milliseconds(share.time)},
                    {"parts", parts}});
  }
  return path;
}

}  // namespace

std::string to_json_text(const PlanExplanation& why) {
  const Explanation& splits = why.splits;
  Json operators = Json::array(), gains = Json::array(), resources = Json::array(),
       layers = Json::array();
  for (const OperatorCost& cost : why.operators) operators.push_back(json_of(cost, splits));
  for (const GainPart& part : splits.gains)
    gains.push_back({{"operator", part.name}, {"ms", milliseconds(part.gain)}});
  for (const Resource& resource : why.resources)
    resources.push_back({{"name", resource.name},
                         {"busy_ms", milliseconds(resource.busy)},
                         {"share", share_of(resource.busy, why.step)}});
  for (const LayerTraffic& layer : why.layers) layers.push_back(json_of(layer, why));
  Json json{{"predicted_ms", milliseconds(why.step)},
            {"step_ms", milliseconds(splits.period)},
            {"binding", why.resources.front().name},
            {"resources", resources},
            {"critical_path", json_of_path(why)},
            {"sent_bytes", Json::parse(to_json_text(why.sent))},
            {"links", Json::parse(to_json_text(why.links, why.step))},
            {"device", why.device.value},
            {"operators", operators},
            {"rest", json_of(why.rest)}};
  if (why.measured_rest) json["measured_rest"] = json_of(*why.measured_rest);
  if (why.measured_whole) json["measured_ms"] = milliseconds(why.measured_whole->total());
  if (splits.data_parallel) json["data_parallel_ms"] = milliseconds(*splits.data_parallel);
  json["gains"] = gains;
  json["layers"] = layers;
  json["notes"] = why.notes;
  return json.dump();
}

}  // namespace troika::cli
