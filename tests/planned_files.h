// For tests of plans: a cluster that is not here, and a run file worth planning for it.
#pragma once

namespace troika {

inline constexpr const char* kCluster = R"([[nodes]]
name = "gpu"
count = 2
devices = 2
kind = "made up"
memory = "16GiB"
flops = "1Tflops"
memory_bandwidth = "100GB/s"
[node_link]
bandwidth = "10GB/s"
latency = "1us"
[network]
bandwidth = "1Gbps"
latency = "10us"
)";

// Many weights and few samples, so that gradients are worth avoiding.
inline constexpr const char* kWide = R"([model]
name = "mlp"
hidden = 512
layers = 2
[data]
train = "digits:train?size=60"
[train]
global_batch = 8
steps = 3
[kernels]
backend = "reference"
cache = "cache"
[run]
name = "wide"
)";

}  // namespace troika
