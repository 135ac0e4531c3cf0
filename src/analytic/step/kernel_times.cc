#include "analytic/step/kernel_times.h"

#include <bit>
#include <type_traits>
#include <variant>

namespace flopcast::analytic {
namespace {

template <typename Field>
std::uint64_t bits(Field field) {
  if constexpr (std::is_same_v<Field, Bytes>) {
    return std::bit_cast<std::uint64_t>(field.value);
  } else if constexpr (std::is_same_v<Field, double>) {
    return std::bit_cast<std::uint64_t>(field);
  } else {
    return static_cast<std::uint64_t>(field);
  }
}

template <typename Key>
struct FieldsOf {
  Key operator()(const Gemm& k) const { return key(k.m, k.n, k.k, k.batch, k.type, flags(k)); }
  Key operator()(const Attention& k) const {
    return key(k.batch, k.query_length, k.kv_length, k.heads, k.kv_heads, k.head_dim, k.window,
               k.causal, k.backward, k.type, k.kv_cache);
  }
  Key operator()(const GroupedGemm& k) const {
    return key(k.tokens, k.hidden, k.intermediate, k.top_k, k.experts, k.tensor_parallel,
               k.expert_parallel, k.type, k.skew, k.gated);
  }
  Key operator()(const MemoryBound& k) const {
    return key(k.op, k.rows, k.columns, k.type, k.backward, k.read, k.written);
  }

 private:
  static unsigned flags(const Gemm& k) {
    return (k.transpose_a ? 2U : 0U) | (k.transpose_b ? 1U : 0U);
  }
  template <typename... Fields>
  static Key key(Fields... fields) {
    static_assert(sizeof...(fields) < std::tuple_size_v<Key>);
    return {0, bits(fields)...};
  }
};

}  // namespace

std::size_t KernelTimes::Hash::operator()(const Key& key) const {
  std::uint64_t hash = 0x243F6A8885A308D3ULL;
  for (const std::uint64_t part : key) {
    hash = (hash ^ part) * 0x9E3779B97F4A7C15ULL;
    hash ^= hash >> 31;
  }
  return hash;
}

KernelTimes::Key KernelTimes::key_of(const Kernel& kernel) {
  Key key = std::visit(FieldsOf<Key>{}, kernel);
  key[0] = kernel.index();
  return key;
}

KernelTimes::Answer KernelTimes::time(const Kernel& kernel) {
  const Key key = key_of(kernel);
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  constexpr std::size_t kMost = 200'000;
  if (known_.size() > kMost) known_.clear();
  const KernelTime time = kernels_.time(kernel);
  return known_.emplace(key, Answer{time.time.value, time.basis}).first->second;
}

}  // namespace flopcast::analytic
