#include <algorithm>
#include <limits>

#include "base/error.h"
#include "lower/device_emitter.h"

namespace troika {

std::int32_t CallTable::add(const Key& key, const std::function<PlannedCall()>& make) {
  auto [known, is_new] = known_.try_emplace(key, static_cast<std::int32_t>(made_.calls.size()));
  if (is_new) {
    PlannedCall call = make();
    call.kind = key.kind;
    call.micro_batch = key.micro_batch;
    call.call.members = static_cast<int>(call.devices.size());
    if (call.call.ranges.empty()) call.call.ranges.resize(call.devices.size());
    if (call.call.kind == Collective::all_reduce || call.call.kind == Collective::reduce_scatter)
      call.call.order =
          plan_.request.strategy->sync.fixed_order ? CombineOrder::tree : CombineOrder::any;
    call.buffers.assign(call.devices.size(), -1);
    made_.calls.push_back(std::move(call));
  }
  return known->second;
}

std::int64_t CallTable::class_of(const Moves& moves, std::int32_t number) {
  if (classes_ == nullptr) return number;
  auto [known, is_new] = message_classes_.try_emplace({&moves, number});
  if (is_new) {
    const Message& message = moves.messages[as_index(number)];
    known->second = std::numeric_limits<std::int64_t>::max();
    for (std::int32_t at = message.first_member; at < message.first_member + message.members;
         ++at) {
      std::int64_t own = classes_->of_device[as_index(moves.members[as_index(at)].device)];
      known->second = std::min(known->second, own << 32 | moves.part[as_index(at)]);
    }
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
  const DistributedValue& value = plan_.distribution.values[at.value];
  const Moves& moves = *value.spread.moves;
  return add({PlannedCall::Kind::moves, static_cast<std::int32_t>(at.value), at.micro_batch,
              class_of(moves, at.message)},
             [&] {
               const Message& message = moves.messages[as_index(at.message)];
               PlannedCall call = between(moves, at.message);
               call.of = static_cast<std::int32_t>(at.value);
               call.message = at.message;
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

const DistributedValue& CallTable::gradient_of(std::size_t update) const {
  return plan_.distribution.values[as_index(plan_.updates[update].gradient)];
}

const Moves& CallTable::gradient_moves(std::size_t update) const {
  return *gradient_of(update).spread.moves;
}

PlannedCall CallTable::sliced(std::size_t update, std::int32_t message, Collective kind) const {
  const UpdatePlan& own = plan_.updates[update];
  const DistributedValue& weight = plan_.distribution.values[as_index(own.weight)];
  PlannedCall call = between(gradient_moves(update), message);
  call.call.kind = kind;
  call.of = static_cast<std::int32_t>(update);
  call.message = message;
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
  return add({PlannedCall::Kind::scatter, static_cast<std::int32_t>(update), 0,
              class_of(gradient_moves(update), message)},
             [&] {
               PlannedCall call = sliced(update, message, Collective::reduce_scatter);
               // A guard that reads the gradient needs it before the update does.
               auto gradient = as_index(plan_.updates[update].gradient);
               const Message& sum = gradient_moves(update).messages[as_index(message)];
               Moment finish = moment_of(plan_, gradient, 0, sum.finish);
               call.finish = pack(finish.turn);
               call.lag = finish.lag;
               return call;
             });
}

std::int32_t CallTable::of_gather(std::size_t update, std::int32_t message) {
  return add({PlannedCall::Kind::gather, static_cast<std::int32_t>(update), 0,
              class_of(gradient_moves(update), message)},
             [&] { return sliced(update, message, Collective::all_gather); });
}

std::int32_t CallTable::of_bucket(std::size_t at) {
  const GradientBucket& bucket = plan_.buckets[at];
  const GradientBucket::Part& first = bucket.parts[0];
  const Moves& moves = gradient_moves(as_index(first.update));
  return add({PlannedCall::Kind::bucket, first.update, 0, class_of(moves, first.message)}, [&] {
    PlannedCall call = between(moves, first.message);
    call.of = static_cast<std::int32_t>(at);
    call.dtype = gradient_of(as_index(first.update)).spec.dtype;
    call.call.count = bucket.bytes.count / size_of(call.dtype).count;
    call.finish = pack(bucket.finish.turn);
    call.lag = bucket.finish.lag;
    return call;
  });
}

std::int32_t CallTable::of_totals(std::int32_t sum, std::int64_t numbers, const Moment& finish) {
  return add({PlannedCall::Kind::totals, sum, 0, 0}, [&] {
    PlannedCall call{.of = sum,
                     .call = {.kind = Collective::all_reduce, .count = numbers},
                     .dtype = DType::f64,
                     .finish = pack(finish.turn),
                     .lag = finish.lag};
    for (std::size_t at = 0; at < plan_.request.machine->devices.size(); ++at)
      call.devices.push_back(static_cast<std::int32_t>(at));
    return call;
  });
}

}  // namespace troika
