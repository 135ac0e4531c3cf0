// Rates of transfer inside of words, as people describe networks: "8x NDR IB 400 Gb/s per node", "2x 100GbE". Their
// values are those of parse_bandwidth: bytes are B, bits are b.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace flopcast {

/// A rate that is written somewhere.
struct RateInWords {
  std::size_t begin = 0, end = 0;  ///< of the text: its number and its unit
  double bytes_per_s = 0;
};
/// The first one from `from` on. Of Ethernet a bare G is a gigabit a second ("100G", "25GbE", "10GBASE-T"), and "/s" may
/// be left out elsewhere: "50 GB" is 50 GB/s. A unit in capitals alone ("GBPS") may be either, and is none.
std::optional<RateInWords> next_rate(std::string_view words, std::size_t from);

}  // namespace flopcast
