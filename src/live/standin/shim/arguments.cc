#include "live/standin/shim/arguments.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "live/standin/memory/memory.h"

namespace flopcast::live {
namespace {

constexpr std::uint64_t kBytesOfElement = 4, kBytesOfThread = 16;

struct Pointer {
  std::uintptr_t at = 0;
  std::uint64_t left = 0;  ///< bytes that it can lead to
};

struct Arguments {
  std::vector<Pointer> pointers;
  std::vector<std::uint64_t> sizes;
};

template <typename T>
T value_of(const void* argument) {
  T value;
  std::memcpy(&value, argument, sizeof value);
  return value;
}

/// Adds the pointers to devices in a parameter: a structure may hold several, each at a multiple of its size.
void add_pointers(const void* parameter, std::size_t bytes, std::vector<Pointer>& pointers) {
  for (std::size_t i = 0; i + sizeof(void*) <= bytes; i += sizeof(void*)) {
    const void* const at = value_of<const void*>(static_cast<const char*>(parameter) + i);
    const std::optional<Block> block = Memory::get().find(at);
    if (!block || !of_device(block->place)) continue;
    pointers.push_back({reinterpret_cast<std::uintptr_t>(at), Memory::get().left(at)});
  }
}

std::optional<Arguments> read(const std::vector<std::size_t>& parameters, void* const* arguments) {
  Arguments all;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (!arguments[i]) return std::nullopt;
    if (parameters[i] == sizeof(std::int32_t)) {
      const auto number = value_of<std::int32_t>(arguments[i]);
      if (number > 0) all.sizes.push_back(static_cast<std::uint64_t>(number));
    }
    add_pointers(arguments[i], parameters[i], all.pointers);
  }
  return all;
}

/// No more than up to the next of them.
void limit(std::vector<Pointer>& pointers) {
  for (Pointer& one : pointers) {
    for (const Pointer& other : pointers) {
      if (other.at > one.at) one.left = std::min<std::uint64_t>(one.left, other.at - one.at);
    }
  }
}

std::uint64_t product(std::uint64_t a, std::uint64_t b) {
  std::uint64_t result = 0;
  return __builtin_mul_overflow(a, b, &result) ? std::numeric_limits<std::uint64_t>::max() : result;
}

}  // namespace

std::optional<std::int64_t> cycles_by_arguments(const KernelObject& kernel,
                                                void* const* arguments) {
  // at::cuda::(anonymous namespace)::spin_kernel(long): its file's name is part of its own.
  const std::string_view name = kernel.name;
  const bool spins = name.starts_with("_ZN2at4cuda") && name.ends_with("spin_kernelEl");
  if (!spins || !arguments || !arguments[0]) return std::nullopt;
  return std::max<std::int64_t>(0, *static_cast<const std::int64_t*>(arguments[0]));
}

std::uint64_t bytes_behind(const KernelObject& kernel, void* const* arguments) {
  if (kernel.parameters.empty() || !arguments) return 0;
  std::optional<Arguments> told = read(kernel.parameters, arguments);
  if (!told) return 0;
  limit(told->pointers);
  std::sort(told->pointers.begin(), told->pointers.end(),
            [](const Pointer& a, const Pointer& b) { return a.at < b.at; });
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < told->pointers.size(); ++i)
    if (i == 0 || told->pointers[i].at != told->pointers[i - 1].at) bytes += told->pointers[i].left;
  return bytes;
}

std::optional<ArgumentBytes> bytes_by_arguments(const KernelObject& kernel, const LaunchSize& size,
                                                void* const* arguments) {
  if (kernel.parameters.empty() || !arguments) return std::nullopt;
  std::optional<Arguments> told = read(kernel.parameters, arguments);
  if (!told || told->pointers.empty()) return std::nullopt;
  limit(told->pointers);
  ArgumentBytes bytes;
  if (!kernel.name.starts_with("triton_") || told->sizes.empty()) {
    const std::uint64_t most =
        product(product(size.grid.product(), size.block.product()), kBytesOfThread);
    std::uint64_t moved = 0;
    for (const Pointer& one : told->pointers) moved += std::min(one.left, most);
    return ArgumentBytes{moved - moved / 2, moved / 2};
  }
  std::uint64_t all = kBytesOfElement;
  for (const std::uint64_t count : told->sizes) all = product(all, count);
  bytes.written = std::min(told->pointers.back().left, all);
  for (std::size_t i = 0; i + 1 < told->pointers.size(); ++i)
    bytes.read += std::min(told->pointers[i].left, all);
  return bytes;
}

}  // namespace flopcast::live
