// What an iteration takes beyond peak rates: catalog/serving/constants.toml holds the values, by chip architecture and
// by engine.
#pragma once

#include <optional>

#include "flopcast/serving.h"

namespace flopcast::serving {

struct Constants {
  double flop_share = 0.68;           ///< of a chip's peak that large products reach
  double byte_share = 0.9;            ///< of its memory bandwidth that weights are read at
  double expert_byte_share = 0.63;    ///< the same of experts' weights
  double attention_byte_share = 0.8;  ///< the same of keys and values
  double attention_flop_share = 0.5;  ///< of the peak in 16 bits, attention
  double four_bit_share = 1;          ///< of byte_share where operands have 4 bits
  double weight_only_share = 1;       ///< of both where weights are unpacked to 16 bits on the way
  double mixed_attention = 1;  ///< time of decodes' attention beside prefills / among themselves
  double table_time = 1;       ///< of large products, over kernel tables scaled from another chip
  double prompt_flop_share =
      0;                      ///< of the peak in 16 bits, attention of prompts; 0: by kernel tables
  double hidden_passes = 14;  ///< over hidden states a layer: norms, sums, rotation, quantisation
  double copy_passes = 2;     ///< over the copies of a token that go to its experts
  double expert_layer_s =
      0;  ///< a layer with experts: their rows counted, sorted and summed by kernels apart
  double element_kernels =
      4;  ///< launches of these a block (attention, feed-forward), each with a floor
  double kernel_floor_s = 3e-6;      ///< of a kernel inside a graph, before floor_factor
  double floor_factor = 1;           ///< of an architecture
  double collective_s = 1e-5;        ///< of a small collective inside a node
  double host_serial_s = 0;          ///< of host between iterations that nothing hides
  double host_serial_request_s = 0;  ///< more a request
  double host_s = 0;                 ///< of host an iteration, hidden where the engine overlaps
  double host_request_s = 0;         ///< more a request
  double eager_layer_s = 0;          ///< launching a layer outside the captured sizes, in pieces
  double eager_kernel_s = 0;         ///< launching a kernel where nothing at all is captured
  double front_s = 0;                ///< from the client to the queue
  double back_s = 0;                 ///< of a token to the client
  double quantise_kernels = 0;       ///< launches a product whose inputs get a scale per block
  double routing_spread = 0;         ///< of experts' loads: standard deviation of their logarithm
  double imbalance = 1;              ///< rows of the fullest chip / mean, experts shared out
  double context_bytes = 0;          ///< of a chip's memory: context, libraries
  double visible_share = 1;          ///< of a chip's memory that its driver shows
};

/// For this cluster's chip under this engine: of the catalogue, or of the file that replaced it, and over them those of the
/// cluster's own fits, which own_constants_problem() finds nothing wrong with.
Constants constants_for(const Cluster& cluster, ServingEngine engine);
/// The same from the text of such a file; errors name the place.
Result<Constants> parse_constants(std::string_view toml, const Chip& chip, ServingEngine engine);

}  // namespace flopcast::serving
