#include "live/standin/torch/random.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>

#include <atomic>
#include <mutex>

#include "live/standin/values/plugin.h"

namespace flopcast::plugin {
namespace {

/// Mixes two numbers to one that looks like chance (SplitMix64).
std::uint64_t mixed(std::uint64_t seed, std::uint64_t offset) {
  std::uint64_t z = seed + 0x9e3779b97f4a7c15 * (offset + 1);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

at::Generator generator_of(const Call& call) {
  at::Generator generator;
  if (call.what.generator >= 0) {
    const c10::IValue& given = call.arguments[static_cast<std::size_t>(call.what.generator)];
    if (given.isGenerator()) generator = given.toGenerator();
  }
  if (!generator.defined()) generator = at::globalContext().defaultGenerator(call.device);
  return generator;
}

}  // namespace

std::optional<std::uint64_t> seed_of(const Call& call) {
  at::Generator generator = generator_of(call);
  // While a graph is captured there is no offset: it is another one at each launch.
  if (generator.device().type() != c10::kCUDA || flopcast_live_capturing()) return std::nullopt;
  const std::lock_guard guard(generator.mutex());
  return mixed(generator.current_seed(), generator.get_offset());
}

std::optional<std::uint64_t> seed_of_replay(const Call& call) {
  static std::atomic<std::uint64_t> draws{0};
  at::Generator generator = generator_of(call);
  const std::lock_guard guard(generator.mutex());
  return mixed(~generator.current_seed(), draws.fetch_add(1));
}

at::Generator generator_from(std::uint64_t seed) {
  static thread_local at::Generator own = at::detail::createCPUGenerator();
  own.set_current_seed(seed);
  return own;
}

}  // namespace flopcast::plugin
