// Random numbers of a GPU's generators: others than a GPU draws, but the same for the same seed and the same calls.
#pragma once

#include <ATen/core/Generator.h>

#include "live/standin/torch/operator.h"

namespace flopcast::plugin {

/// By the state of the call's generator, which PyTorch's own kernel then moves on. None while a graph is captured.
std::optional<std::uint64_t> seed_of(const Call& call);
/// Another one for each launch of a graph.
std::optional<std::uint64_t> seed_of_replay(const Call& call);
/// A generator of the CPU that begins with this seed; this thread's own, so one at a time.
at::Generator generator_from(std::uint64_t seed);

}  // namespace flopcast::plugin
