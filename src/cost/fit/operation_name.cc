// How measured kernels are called and sorted where they are compared.
#include <fmt/format.h>

#include "cost/forms/attention_form.h"
#include "cost/model/fits.h"
#include "flopcast/cost/fit.h"

namespace flopcast {
namespace {

std::string name_of(const Gemm& g) { return fmt::format("gemm {}", name(g.type)); }
std::string name_of(const Attention& a) {
  return fmt::format("attention {} {}{}", cost::is_decode(a) ? "decode" : "prefill", name(a.type),
                     a.backward ? " backward" : "");
}
std::string name_of(const GroupedGemm& g) { return fmt::format("moe {}", name(g.type)); }
std::string name_of(const MemoryBound& k) { return std::string(name(k.op)); }

}  // namespace

std::string operation_name(const Kernel& kernel) {
  return std::visit([](const auto& k) { return name_of(k); }, kernel);
}

std::string_view kernel_size_class(Seconds time) {
  return cost::size_class_name(cost::Band::size_class(time.value));
}

}  // namespace flopcast
