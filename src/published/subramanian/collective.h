// Time of collectives in paper mode (section III-C): one ring over NVLink and NICs.
//
//   t = fixed + per_byte x volume
//
// The group of n GPUs has k in each of its n/k NVLink domains. B_f, B_s: achieved rates of NVLink
// and of one NIC; l_f, l_s their latencies; c = (n-1)/n, but 1 for broadcast and reduce.
//
//   all in one domain   l_f (n-1)                       + c / B_f
//   one GPU per domain  l_s (n-1)                       + c / B_s
//   else                l_s (n/k - 1) + l_f (n - n/k)   + c max(1 / (k nics B_s), 1 / B_f)
#pragma once

#include <cstdint>

#include "flopcast/published/subramanian.h"

namespace flopcast::published {

/// Rates of a system as the formulas use them, in SI units.
struct Rates {
  explicit Rates(const PaperSystem& system);

  double seconds_per_matrix_flop, seconds_per_vector_flop, seconds_per_hbm_byte;
  double matrix_per_vector;  ///< ratio of the peaks
  double nvlink_byte, nvlink_latency;
  double nic_byte, nic_latency;
  double nics_per_gpu;
};

struct CollectiveCost {
  double fixed = 0, per_byte = 0;
  double time(double bytes) const { return bytes == 0 ? 0 : fixed + per_byte * bytes; }
};

CollectiveCost collective_cost(const Rates& rates, PaperCollective kind, std::int64_t group,
                               std::int64_t in_domain, const PaperDefects& defects);

}  // namespace flopcast::published
