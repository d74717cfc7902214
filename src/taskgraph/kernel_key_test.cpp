#include "taskgraph/kernel_key.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "ops/testing/op_cases.h"

namespace troika {
namespace {

/// Every phase of every operator, alone and with an activation behind it.
std::vector<KernelKey> all_keys() {
  std::vector<KernelKey> keys;
  for (const OpCase& row : op_cases()) {
    Signature s = signature(row.op, row.inputs);
    for (const auto* phases : {&s.phases, &s.staged}) {
      for (const PhaseSpec& phase : *phases) {
        keys.push_back({row.op, row.inputs, phase.phase, {}});
        keys.push_back({row.op, row.inputs, phase.phase, {{Activation{}, {}}}});
      }
    }
  }
  return keys;
}

TEST(KernelKey, ReadsBackItsText) {
  for (const KernelKey& key : all_keys()) EXPECT_EQ(parse_key(to_text(key)), key) << to_text(key);
}

TEST(KernelKey, TextOfAnotherVersionIsNotAKey) {
  for (const char* text :
       {"", "linear{out=1}", "linear{out=1} sideways f32[4,3]", "linear{out=1} forward f31[4,3]",
        "cross_entropy{first_class=4} forward f32[4,3]", "linear{out=1} forward f32[4,3] + swish{}",
        // Boxes once began with where they begin in the input.
        "assemble{shape=[2],boxes=[4,0,2]} forward f32[8]"})
    EXPECT_FALSE(parse_key(text)) << text;
  EXPECT_TRUE(parse_key("assemble{shape=[2],boxes=[0,2]} forward f32[8]"));
}

TEST(KernelKey, TextWithSizesThatOverflowIsNotAKey) {
  for (const char* text :
       {"linear{out=9223372036854775807} forward f32[4,3]", "sum{count=0} forward",
        "linear{out=999999999} forward f32[999999999,999999999]",
        "reshape{shape=[999999999,999999999,999999999]} forward f32[8]"})
    EXPECT_FALSE(parse_key(text)) << text;
  // Digits of a fraction are not a size.
  EXPECT_TRUE(parse_key("dropout{rate=0.30000001192092896} forward f32[8]"));
}

TEST(KernelKey, HashesDifferWhereKeysDo) {
  std::map<std::uint64_t, KernelKey> seen;
  for (const KernelKey& key : all_keys()) {
    auto [known, is_new] = seen.emplace(hash(key), key);
    EXPECT_TRUE(is_new || known->second == key) << to_text(key) << "\n" << to_text(known->second);
    EXPECT_EQ(hash(*parse_key(to_text(key))), hash(key)) << to_text(key);
  }
}

TEST(KernelKey, HashesFollowEveryPart) {
  TensorSpec x{{4, 3}, DType::f32};
  const KernelKey key{Linear{.out = 5}, {x}, Phase::forward, {{Binary{}, {{{4, 5}, DType::f32}}}}};
  const std::vector<std::function<void(KernelKey&)>> changes{
      [](KernelKey& k) { std::get<Linear>(k.op).out = 6; },
      [](KernelKey& k) { k.phase = Phase::backward_data; },
      [](KernelKey& k) { k.inputs[0].shape[1] = 4; },
      [](KernelKey& k) { k.inputs[0].shape.push_back(1); },
      [](KernelKey& k) { k.inputs[0].dtype = DType::f64; },
      [](KernelKey& k) { k.inputs.push_back(k.inputs[0]); },
      [](KernelKey& k) { k.fused.clear(); },
      [](KernelKey& k) { std::get<Binary>(k.fused[0].op).kind = BinaryKind::multiply; },
      [](KernelKey& k) { k.fused[0].others[0].shape[0] = 1; },
      [](KernelKey& k) {
        k.fused.push_back({Activation{}, {}});
      }};
  for (std::size_t at = 0; at < changes.size(); ++at) {
    KernelKey other = key;
    changes[at](other);
    EXPECT_NE(hash(other), hash(key)) << "change " << at;
  }
}

TEST(KernelKey, EqualNumbersHaveEqualHashes) {
  KernelKey key{Activation{}, {{{4}, DType::f32}}, Phase::forward, {}}, other = key;
  std::get<Activation>(key.op).slope = 0.0, std::get<Activation>(other.op).slope = -0.0;
  ASSERT_EQ(key, other);
  EXPECT_EQ(hash(key), hash(other));
}

}  // namespace
}  // namespace troika
