// Kernel times on a chip of the catalogue.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <tuple>

#include "errors.h"
#include "flopcast/cost.h"
#include "forecasts.h"

namespace flopcast {
namespace {

using Answer = std::tuple<double, double, double, double, std::string, std::string>;

/// (time_s, low_s, high_s, roofline_s, basis, source)
Answer answer(const KernelTime& time) {
  return {time.time.value,
          time.low.value,
          time.high.value,
          time.roofline.value,
          std::string(name(time.basis)),
          std::string(time.source)};
}

template <typename T>
T known(std::optional<T> value, const char* what, const std::string& given) {
  if (!value) {
    raise({ErrorCode::kUsage, what, "unknown name '" + given + "'", "see flopcast cost --help"});
  }
  return *value;
}

KernelModel* open_chip(const std::string& name) {
  const Chip chip = value_or_raise(Catalog::builtin().chip(name));
  return new KernelModel(value_or_raise(KernelModel::make(chip, Catalog::builtin())));
}

Answer gemm(const KernelModel& model, std::int64_t m, std::int64_t n, std::int64_t k,
            std::int64_t batch, const std::string& type) {
  Gemm kernel;
  kernel.m = m;
  kernel.n = n;
  kernel.k = k;
  kernel.batch = batch;
  kernel.type = known(parse_gemm_type(type), "type", type);
  return answer(model.time(kernel));
}

Answer attention(const KernelModel& model, std::int64_t batch, std::int64_t query_length,
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
  kernel.type = known(parse_data_type(type), "type", type);
  kernel.kv_cache = known(parse_data_type(kv_cache), "kv_cache", kv_cache);
  return answer(model.time(kernel));
}

Answer moe(const KernelModel& model, std::int64_t tokens, std::int64_t hidden,
           std::int64_t intermediate, std::int64_t top_k, std::int64_t experts,
           std::int64_t tensor_parallel, std::int64_t expert_parallel, const std::string& type,
           double skew) {
  GroupedGemm kernel;
  kernel.tokens = tokens;
  kernel.hidden = hidden;
  kernel.intermediate = intermediate;
  kernel.top_k = top_k;
  kernel.experts = experts;
  kernel.tensor_parallel = tensor_parallel;
  kernel.expert_parallel = expert_parallel;
  kernel.type = known(parse_gemm_type(type), "type", type);
  kernel.skew = skew;
  return answer(model.time(kernel));
}

Answer memory(const KernelModel& model, const std::string& op, std::int64_t rows,
              std::int64_t columns, const std::string& type, bool backward) {
  MemoryBound kernel;
  kernel.op = known(parse_memory_op(op), "op", op);
  kernel.rows = rows;
  kernel.columns = columns;
  kernel.type = known(parse_data_type(type), "type", type);
  kernel.backward = backward;
  return answer(model.time(kernel));
}

}  // namespace

void define_cost(nb::module_& module) {
  nb::class_<KernelModel>(module, "KernelModel")
      .def(nb::new_(&open_chip))
      .def("gemm", &gemm)
      .def("attention", &attention)
      .def("moe", &moe)
      .def("memory", &memory);
}

}  // namespace flopcast
