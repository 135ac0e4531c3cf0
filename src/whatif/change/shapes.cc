#include "whatif/change/shapes.h"

#include <algorithm>
#include <numeric>

namespace flopcast::whatif {

using namespace replaying;

namespace {

std::int64_t product(const Dims& dims, std::size_t from, std::size_t to) {
  return std::accumulate(dims.begin() + static_cast<std::ptrdiff_t>(from),
                         dims.begin() + static_cast<std::ptrdiff_t>(to), std::int64_t{1},
                         std::multiplies<>());
}

const OpDetail* detail_of(const RankModel& rank, std::uint32_t row) {
  const Events& events = rank.trace->events;
  if (row == kNoIndex || events.category[row] != Category::kCpuOp) return nullptr;
  return events.detail[row] == kNoDetail ? nullptr : &rank.trace->ops[events.detail[row]];
}

std::optional<Gemm> gemm_of(const Dims& a, const Dims& b) {
  Gemm gemm;
  gemm.k = a.back();
  if (b.size() == 2) {
    gemm.m = product(a, 0, a.size() - 1);
    gemm.n = b[0] == gemm.k ? b[1] : b[0];
    if (b[0] != gemm.k && b[1] != gemm.k) return std::nullopt;
    return gemm;
  }
  if (a.size() != b.size() || product(a, 0, a.size() - 2) != product(b, 0, b.size() - 2))
    return std::nullopt;
  if (b[b.size() - 2] != gemm.k) return std::nullopt;
  gemm.batch = product(a, 0, a.size() - 2);
  gemm.m = a[a.size() - 2];
  gemm.n = b.back();
  return gemm;
}

}  // namespace

std::vector<Dims> parse_dims(std::string_view text) {
  std::vector<Dims> all;
  Dims open;
  bool inside = false;  // of the innermost brackets
  constexpr std::int64_t kNone = -1;
  std::int64_t number = kNone;
  const auto end_number = [&] {
    if (number != kNone) open.push_back(number);
    number = kNone;
  };
  for (std::size_t i = text.starts_with('[') ? 1 : 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c >= '0' && c <= '9') {
      constexpr std::int64_t kMost = std::int64_t{1} << 58;
      number = std::min(kMost, std::max<std::int64_t>(number, 0) * 10 + (c - '0'));
      continue;
    }
    end_number();
    if (c == '[') {
      open.clear();
      inside = true;
    } else if (c == ']' && inside) {
      all.push_back(open);
      inside = false;
    }
  }
  return all;
}

std::vector<Dims> dims_of(const TraceSet& set, const RankModel& rank, std::uint32_t row) {
  const OpDetail* detail = detail_of(rank, row);
  if (detail == nullptr || detail->input_dims == 0) return {};
  return parse_dims(set.strings[detail->input_dims]);
}

std::vector<std::string> types_of(const TraceSet& set, const RankModel& rank, std::uint32_t row) {
  const OpDetail* detail = detail_of(rank, row);
  std::vector<std::string> types;
  if (detail == nullptr || detail->input_types == 0) return types;
  const std::string_view text = set.strings[detail->input_types];
  for (std::size_t at = text.find('"'); at != text.npos; at = text.find('"', at + 1)) {
    const std::size_t end = text.find('"', at + 1);
    if (end == text.npos) break;
    types.emplace_back(text.substr(at + 1, end - at - 1));
    at = end;
  }
  return types;
}

std::optional<Gemm> gemm_of(const std::vector<Dims>& inputs) {
  for (std::size_t i = 0; i + 1 < inputs.size(); ++i) {
    if (inputs[i].size() < 2) continue;
    for (std::size_t j = i + 1; j < inputs.size(); ++j) {
      if (inputs[j].size() < 2) continue;
      return gemm_of(inputs[i], inputs[j]);
    }
  }
  return std::nullopt;
}

std::optional<GemmType> gemm_type_of(std::string_view recorded) {
  if (recorded == "c10::BFloat16") return GemmType::kBf16;
  if (recorded == "c10::Half") return GemmType::kFp16;
  if (recorded == "float") return GemmType::kTf32;
  if (recorded.starts_with("c10::Float8")) return GemmType::kFp8Static;
  return std::nullopt;
}

}  // namespace flopcast::whatif
