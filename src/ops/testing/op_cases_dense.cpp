#include "ops/testing/op_cases.h"

namespace troika {
namespace {

std::vector<OpCase> conv2d_cases() {
  return {
      {"conv2d_1x1", Conv2d{.out = 4}, {f64({3, 5, 4, 3})}},
      {"conv2d_3x3",
       Conv2d{.out = 3, .kernel = {3, 3}, .pad = {1, 1}, .pad_end = {1, 1}},
       {f64({2, 3, 6, 5})}},
      {"conv2d_one_sided",
       Conv2d{.out = 2, .kernel = {3, 2}, .stride = {1, 2}, .pad = {2, 0}, .pad_end = {0, 1}},
       {f64({2, 3, 5, 6})}},
      {"conv2d_stride",
       Conv2d{.out = 2, .kernel = {5, 3}, .stride = {2, 2}, .pad = {2, 1}, .pad_end = {2, 1}},
       {f64({2, 2, 9, 7})}},
      // The last row and column, and those between the windows, are never seen.
      {"conv2d_1x1_stride", Conv2d{.out = 3, .stride = {2, 3}}, {f64({2, 3, 8, 9})}},
      {"conv2d_unseen_end",
       Conv2d{.out = 2, .kernel = {3, 2}, .stride = {2, 3}},
       {f64({2, 3, 8, 10})}},
      {"conv2d_dilation",
       Conv2d{.out = 2, .kernel = {3, 2}, .pad = {2, 1}, .pad_end = {2, 1}, .dilation = {2, 3}},
       {f64({2, 3, 7, 6})}},
      {"conv2d_groups",
       Conv2d{.out = 9,
              .kernel = {3, 3},
              .stride = {1, 2},
              .pad = {1, 1},
              .pad_end = {1, 1},
              .groups = 3},
       {f64({2, 6, 5, 4})}},
      {"conv2d_depthwise",
       Conv2d{.out = 5, .kernel = {3, 3}, .pad = {1, 1}, .pad_end = {1, 1}, .groups = 5},
       {f64({2, 5, 4, 3})}},
  };
}

std::vector<OpCase> pool_cases() {
  using enum PoolKind;
  return {
      {"pool2d_max", Pool2d{.window = {2, 2}, .stride = {2, 2}}, {f64({3, 4, 6, 7})}},
      {"pool2d_max_overlap",
       Pool2d{.window = {3, 3}, .stride = {2, 2}, .pad = {1, 1}, .pad_end = {1, 1}},
       {f64({2, 3, 8, 7})}},
      {"pool2d_average",
       Pool2d{
           .kind = average, .window = {3, 2}, .stride = {2, 1}, .pad = {1, 1}, .pad_end = {2, 0}},
       {f64({2, 3, 7, 5})}},
      {"pool2d_average_padding",
       Pool2d{.kind = average,
              .window = {3, 3},
              .stride = {2, 2},
              .pad = {1, 1},
              .pad_end = {1, 1},
              .include_padding = true},
       {f64({2, 2, 5, 7})}},
      {"pool2d_average_gaps",
       Pool2d{.kind = average, .window = {2, 1}, .stride = {3, 2}},
       {f64({2, 2, 10, 6})}},
      {"global_pool_average", GlobalPool{}, {f64({5, 3, 2, 4})}},
      {"global_pool_max", GlobalPool{.kind = max}, {f64({3, 5, 4, 3})}},
  };
}

/// Two and three tiles of the samples either hold whole shards or lie inside one.
std::vector<OpCase> batch_norm_cases() {
  return {
      {"batch_norm_rank_2", BatchNorm{.epsilon = 1e-3}, {f64({12, 4})}},
      {"batch_norm_rank_3", BatchNorm{}, {f64({4, 3, 5})}},
      {"batch_norm", BatchNorm{}, {f64({6, 3, 4, 3})}},
      {"batch_norm_shards", BatchNorm{.shards = 6}, {f64({12, 3, 3, 4})}},
      {"batch_norm_two_shards", BatchNorm{.shards = 2}, {f64({2, 3, 4, 5})}},
      {"batch_norm_predict", BatchNorm{.training = false, .shards = 4}, {f64({5, 3, 2, 3})}},
  };
}

std::vector<OpCase> layer_norm_cases() {
  return {
      {"layer_norm", LayerNorm{}, {f64({5, 7})}},
      {"layer_norm_tokens", LayerNorm{.epsilon = 1e-3}, {f64({3, 4, 6})}},
  };
}

std::vector<OpCase> matmul_cases() {
  return {
      {"matmul", Matmul{}, {f64({5, 3}), f64({3, 4})}},
      {"matmul_batched", Matmul{}, {f64({3, 2, 5, 4}), f64({3, 2, 4, 3})}},
      {"matmul_transpose_a", Matmul{.transpose_a = true}, {f64({2, 4, 5}), f64({2, 4, 3})}},
      {"matmul_transpose_b", Matmul{.transpose_b = true}, {f64({3, 5, 4}), f64({3, 6, 4})}},
      {"matmul_transpose_both",
       Matmul{.transpose_a = true, .transpose_b = true},
       {f64({4, 5}), f64({3, 4})}},
  };
}

std::vector<OpCase> conv_transpose2d_cases() {
  return {
      {"conv_transpose2d", ConvTranspose2d{.out = 3, .kernel = {3, 2}}, {f64({2, 4, 3, 4})}},
      {"conv_transpose2d_stride",
       ConvTranspose2d{
           .out = 2, .kernel = {4, 4}, .stride = {2, 2}, .pad = {1, 1}, .pad_end = {1, 1}},
       {f64({2, 3, 3, 4})}},
      {"conv_transpose2d_longer",
       ConvTranspose2d{
           .out = 2, .kernel = {3, 3}, .stride = {2, 3}, .pad = {1, 0}, .pad_end = {0, -2}},
       {f64({2, 3, 3, 2})}},
      // The stride is larger than the kernel: outputs between two windows stay zero.
      {"conv_transpose2d_gaps",
       ConvTranspose2d{.out = 3, .kernel = {1, 2}, .stride = {3, 4}, .pad_end = {-2, -1}},
       {f64({3, 2, 2, 3})}},
      {"conv_transpose2d_cut",
       ConvTranspose2d{
           .out = 2, .kernel = {5, 3}, .stride = {1, 2}, .pad = {4, 2}, .pad_end = {1, 2}},
       {f64({2, 3, 5, 4})}},
  };
}

std::vector<OpCase> local_response_norm_cases() {
  return {
      {"local_response_norm", LocalResponseNorm{.alpha = 0.3, .k = 2}, {f64({3, 7, 2, 3})}},
      {"local_response_norm_even",
       LocalResponseNorm{.size = 4, .alpha = 1, .beta = 0.5},
       {f64({2, 5, 3, 2})}},
  };
}

}  // namespace

std::vector<OpCase> dense_cases() {
  std::vector<OpCase> all;
  for (auto family : {conv2d_cases, pool_cases, batch_norm_cases, layer_norm_cases, matmul_cases,
                      conv_transpose2d_cases, local_response_norm_cases}) {
    std::vector<OpCase> cases = family();
    all.insert(all.end(), cases.begin(), cases.end());
  }
  return all;
}

}  // namespace troika
