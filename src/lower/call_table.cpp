#include <algorithm>

#include "base/error.h"
#include "lower/device_emitter.h"

namespace troika {

std::int32_t CallTable::add(const Key& key, const std::function<PlannedCall()>& make) {
  auto [known, is_new] = known_.try_emplace(key, static_cast<std::int32_t>(made_.calls.size()));
  if (is_new) {
    PlannedCall call = make();
    call.kind = key.kind;
    call.of = key.of;
    call.micro_batch = key.micro_batch;
    call.message = key.message;
    call.call.members = static_cast<int>(call.devices.size());
    if (call.call.ranges.empty()) call.call.ranges.resize(call.devices.size());
    if (call.call.kind == Collective::all_reduce || call.call.kind == Collective::reduce_scatter)
      call.call.order = plan_.request.strategy->sync.fixed_order ? CombineOrder::tree
                                                                 : CombineOrder::any;
    call.buffers.assign(call.devices.size(), -1);
    made_.calls.push_back(std::move(call));
  }
  return known->second;
}

PlannedCall CallTable::between(const Moves& moves, std::int32_t number) {
  const Message& message = moves.messages[as_index(number)];
  PlannedCall call{.call = {.kind = message.kind}};
  for (std::int32_t member = 0; member < message.members; ++member)
    call.devices.push_back(moves.members[as_index(message.first_member + member)].device);
  return call;
}

std::int32_t CallTable::of_moves(const ValueCall& at) {
  return add({PlannedCall::Kind::moves, static_cast<std::int32_t>(at.value), at.micro_batch,
              at.message},
             [&] {
               const DistributedValue& value = plan_.distribution.values[at.value];
               const Moves& moves = *value.spread.moves;
               const Message& message = moves.messages[as_index(at.message)];
               PlannedCall call = between(moves, at.message);
               call.dtype = value.spec.dtype;
               call.rule = at.greatest ? CombineRule::max : CombineRule::sum;
               call.call.count = message.elements * value.spread.scale;
               for (std::int32_t member = 0; message.first_range >= 0 && member < message.members;
                    ++member) {
                 Range range = moves.ranges[as_index(message.first_range + member)];
                 call.call.ranges.push_back(
                     {range.begin * value.spread.scale, range.end * value.spread.scale});
               }
               Moment finish = moment_of(plan_, at.value, at.micro_batch, message.finish);
               call.finish = pack(finish.turn);
               call.lag = finish.lag;
               return call;
             });
}

PlannedCall CallTable::sliced(std::size_t update, std::int32_t message, Collective kind) const {
  const UpdatePlan& own = plan_.updates[update];
  const DistributedValue& weight = plan_.distribution.values[as_index(own.weight)];
  const DistributedValue& gradient = plan_.distribution.values[as_index(own.gradient)];
  PlannedCall call = between(*gradient.spread.moves, message);
  call.call.kind = kind;
  call.dtype = weight.spec.dtype;
  std::int32_t place = own.shared->place_of[as_index(message)];
  std::int64_t owners = own.shared->places[as_index(place)].owners;
  std::int64_t length = slice_length(
      region_of(plan_.tables.tiles, weight.stored, place, weight.spec.shape).elements(), owners);
  for (std::int64_t owner = 0; owner < owners; ++owner)
    call.call.ranges.push_back({owner * length, (owner + 1) * length});
  call.call.count = length * owners;
  const Moment& moment = plan_.update_moments[update];
  call.finish = pack(moment.turn);
  call.lag = moment.lag;
  return call;
}

std::int32_t CallTable::of_scatter(std::size_t update, std::int32_t message) {
  return add({PlannedCall::Kind::scatter, static_cast<std::int32_t>(update), 0, message},
             [&] {
               PlannedCall call = sliced(update, message, Collective::reduce_scatter);
               // A guard that reads the gradient needs it before the update does.
               auto gradient = as_index(plan_.updates[update].gradient);
               const Moves& moves = *plan_.distribution.values[gradient].spread.moves;
               Moment finish =
                   moment_of(plan_, gradient, 0, moves.messages[as_index(message)].finish);
               call.finish = pack(finish.turn);
               call.lag = finish.lag;
               return call;
             });
}

std::int32_t CallTable::of_gather(std::size_t update, std::int32_t message) {
  return add({PlannedCall::Kind::gather, static_cast<std::int32_t>(update), 0, message},
             [&] { return sliced(update, message, Collective::all_gather); });
}

std::int32_t CallTable::of_bucket(std::size_t at) {
  return add({PlannedCall::Kind::bucket, static_cast<std::int32_t>(at), 0, 0}, [&] {
    const GradientBucket& bucket = plan_.buckets[at];
    const UpdatePlan& update = plan_.updates[as_index(bucket.parts[0].update)];
    const DistributedValue& gradient = plan_.distribution.values[as_index(update.gradient)];
    PlannedCall call = between(*gradient.spread.moves, bucket.parts[0].message);
    call.dtype = gradient.spec.dtype;
    call.call.count = bucket.bytes.count / size_of(call.dtype).count;
    call.finish = pack(bucket.finish.turn);
    call.lag = bucket.finish.lag;
    return call;
  });
}

std::int32_t CallTable::of_totals(std::int32_t sum, std::int64_t numbers, const Moment& finish) {
  return add({PlannedCall::Kind::totals, sum, 0, 0}, [&] {
    PlannedCall call{.call = {.kind = Collective::all_reduce, .count = numbers},
                     .dtype = DType::f64,
                     .finish = pack(finish.turn),
                     .lag = finish.lag};
    for (std::size_t at = 0; at < plan_.request.machine->devices.size(); ++at)
      call.devices.push_back(static_cast<std::int32_t>(at));
    return call;
  });
}

}  // namespace troika
