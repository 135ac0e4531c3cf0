// Kernel times on a chip of the catalogue.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <tuple>

#include "errors.h"
#include "flopcast/cost/checked_time.h"
#include "flopcast/machine/named.h"
#include "forecasts.h"

namespace flopcast {
namespace {

constexpr const char* kCostHelp = "flopcast cost --help";

/// (time_s, low_s, high_s, roofline_s, basis, source)
using KernelAnswer = std::tuple<double, double, double, double, std::string, std::string>;

KernelAnswer kernel_answer(const KernelTime& time) {
  return {time.time.value,
          time.low.value,
          time.high.value,
          time.roofline.value,
          std::string(name(time.basis)),
          std::string(time.source)};
}

Machine* open_chip(const std::string& name) {
  return new Machine(value_or_raise(named_chip(
      name, Catalog::builtin(), with_uses({FitKind::kKernels}, "the time of a kernel"))));
}

KernelAnswer gemm(const Machine& machine, std::int64_t m, std::int64_t n, std::int64_t k,
                  std::int64_t batch, const std::string& type) {
  Gemm kernel;
  kernel.m = m;
  kernel.n = n;
  kernel.k = k;
  kernel.batch = batch;
  kernel.type = known(parse_gemm_type(type), "type", type, kCostHelp);
  return kernel_answer(value_or_raise(checked_time(machine.kernels(), kernel)));
}

KernelAnswer attention(const Machine& machine, std::int64_t batch, std::int64_t query_length,
                       std::int64_t kv_length, std::int64_t heads, std::int64_t kv_heads,
                       std::int64_t head_dim, std::int64_t window, bool causal, bool backward,
                       const std::string& type, const std::string& kv_cache) {
  Attention kernel;
  kernel.batch = batch;
  kernel.query_length = query_length;
  kernel.kv_length = kv_length;
  kernel.heads = heads;
  kernel.kv_heads = kv_heads;
  kernel.head_dim = head_dim;
  kernel.window = window;
  kernel.causal = causal;
  kernel.backward = backward;
  kernel.type = known(parse_data_type(type), "type", type, kCostHelp);
  kernel.kv_cache = known(parse_data_type(kv_cache), "kv_cache", kv_cache, kCostHelp);
  return kernel_answer(value_or_raise(checked_time(machine.kernels(), kernel)));
}

KernelAnswer moe(const Machine& machine, std::int64_t tokens, std::int64_t hidden,
                 std::int64_t intermediate, std::int64_t top_k, std::int64_t experts,
                 std::int64_t tensor_parallel, std::int64_t expert_parallel,
                 const std::string& type, double skew) {
  GroupedGemm kernel;
  kernel.tokens = tokens;
  kernel.hidden = hidden;
  kernel.intermediate = intermediate;
  kernel.top_k = top_k;
  kernel.experts = experts;
  kernel.tensor_parallel = tensor_parallel;
  kernel.expert_parallel = expert_parallel;
  kernel.type = known(parse_gemm_type(type), "type", type, kCostHelp);
  kernel.skew = skew;
  return kernel_answer(value_or_raise(checked_time(machine.kernels(), kernel)));
}

KernelAnswer memory_bound(const Machine& machine, const std::string& op, std::int64_t rows,
                          std::int64_t columns, const std::string& type, bool backward) {
  MemoryBound kernel;
  kernel.op = known(parse_memory_op(op), "op", op, kCostHelp);
  kernel.rows = rows;
  kernel.columns = columns;
  kernel.type = known(parse_data_type(type), "type", type, kCostHelp);
  kernel.backward = backward;
  return kernel_answer(value_or_raise(checked_time(machine.kernels(), kernel)));
}

}  // namespace

void define_cost(nb::module_& module) {
  using namespace nb::literals;
  nb::class_<Machine>(module, "KernelModel",
                      "Answers: (time_s, low_s, high_s, roofline_s, basis, source).")
      .def(nb::new_(&open_chip), "chip"_a)
      .def("gemm", &gemm, nb::kw_only(), "m"_a, "n"_a, "k"_a, "batch"_a, "type"_a)
      .def("attention", &attention, nb::kw_only(), "batch"_a, "query_length"_a, "kv_length"_a,
           "heads"_a, "kv_heads"_a, "head_dim"_a, "window"_a, "causal"_a, "backward"_a, "type"_a,
           "kv_cache"_a)
      .def("moe", &moe, nb::kw_only(), "tokens"_a, "hidden"_a, "intermediate"_a, "top_k"_a,
           "experts"_a, "tensor_parallel"_a, "expert_parallel"_a, "type"_a, "skew"_a)
      .def("memory", &memory_bound, nb::kw_only(), "op"_a, "rows"_a, "columns"_a, "type"_a,
           "backward"_a);
}

}  // namespace flopcast
