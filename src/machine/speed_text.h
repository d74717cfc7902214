// Speeds and latencies as text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/units.h"

namespace troika {

/// Bytes per second from "10Gbps", "100 Gbit/s", "32GB/s" or "1.5GiB/s"; nothing for other texts
/// and for rates below 1.
std::optional<double> parse_rate(std::string_view text);
/// "12.5 GB/s"
std::string rate_text(double bytes_per_second);

/// From "20us", "500ns" or "1.5ms".
std::optional<SimTime> parse_latency(std::string_view text);

/// Operations per second from "100Gflops" or "1.5Tflops"; nothing for speeds below 1.
std::optional<double> parse_flops(std::string_view text);
/// "1.5 Tflops"
std::string flops_text(double flops_per_second);

}  // namespace troika
