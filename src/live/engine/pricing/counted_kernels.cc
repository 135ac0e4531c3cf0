#include "live/engine/pricing/counted_kernels.h"

#include <algorithm>
#include <cmath>

#include "base/text/numbers.h"

namespace flopcast::live {
namespace {

std::string_view taken(std::string_view& text, char until) {
  const std::size_t end = std::min(text.find(until), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

bool take_number(std::string_view& text, char until, double& number) {
  const auto value = parse_whole(taken(text, until));
  number = static_cast<double>(value.value_or(0));
  return value && *value >= 0;
}

struct Blocks {
  GemmType type = GemmType::kBf16;
  double m = 0, n = 0, k = 0, most = 0, count = 0;
  bool attends = false, backward = false;

  double multiplications() const { return m * n * k * count; }
};

std::optional<Blocks> blocks_of(std::string_view text) {
  Blocks blocks;
  const auto type = parse_gemm_type(taken(text, ':'));
  for (double* size : {&blocks.m, &blocks.n, &blocks.k, &blocks.most, &blocks.count})
    if (!take_number(text, ':', *size) || *size < 1) return std::nullopt;
  const bool known = text == "plain" || text == "attention" || text == "backward";
  if (!type || !known) return std::nullopt;
  blocks.type = *type;
  blocks.attends = text != "plain";
  blocks.backward = text == "backward";
  return blocks;
}

std::int64_t size(double value) {
  constexpr double kMost = 1e12;
  return std::max<std::int64_t>(1, std::llround(std::min(value, kMost)));
}

/// One product whose blocks these are, about as wide as it is high.
Gemm product_of(const Blocks& blocks) {
  const double area = blocks.m * blocks.n * blocks.count;
  const double rows = std::max(1.0, std::round(std::sqrt(area) / blocks.m));
  Gemm gemm;
  gemm.type = blocks.type;
  gemm.m = size(blocks.m * std::min(rows, blocks.count));
  gemm.n = size(area / static_cast<double>(gemm.m));
  gemm.k = size(blocks.k);
  return gemm;
}

DataType data_type(GemmType type) {
  if (type == GemmType::kFp16) return DataType::kFp16;
  if (type == GemmType::kFp8Static) return DataType::kFp8;
  if (type == GemmType::kFp32 || type == GemmType::kTf32) return DataType::kFp32;
  return DataType::kBf16;
}

/// Queries and keys as the blocks have them: those that consume weights sum over the keys, and are as wide as a head. Of
/// several, each goes through a part of the keys. Where blocks have half of what the last one has, queries see what is
/// before them.
void attend(CountedKernel& made, const std::vector<Blocks>& all) {
  double multiplications = 0, keys = 0, longest = 0, blocks = 0;
  const Blocks* consumer = nullptr;
  bool backward = false;
  for (const Blocks& one : all) {
    multiplications += one.multiplications();
    backward = backward || one.backward;
    if (!one.attends) continue;
    if (!consumer || one.multiplications() > consumer->multiplications()) consumer = &one;
    keys += one.k * one.count;
    longest += one.most;
    blocks = std::max(blocks, one.count);
  }
  if (!consumer) return;
  constexpr double kSeenByCausal = 0.75;  // of the keys: half of many, more of few blocks
  const double mean = keys / blocks;
  Attention attention;
  attention.causal = mean < kSeenByCausal * longest;
  const double length = std::max(1.0, attention.causal ? longest : mean);
  attention.backward = backward;
  attention.type = attention.kv_cache = data_type(consumer->type);
  attention.head_dim = size(consumer->n);
  attention.query_length = attention.kv_length = size(length);
  attention.heads = attention.kv_heads =
      size(consumer->m * consumer->count / std::max(length, consumer->m));
  made.products.push_back(
      {attention, 2 * multiplications / std::max(1.0, kernel_flops(attention).value)});
}

}  // namespace

std::optional<CountedKernel> parse_counted(std::string_view text) {
  CountedKernel made;
  for (double* number : {&made.read, &made.written, &made.operations, &made.behind})
    if (!take_number(text, ' ', *number)) return std::nullopt;
  made.state = taken(text, ' ');
  std::string_view products = taken(text, ' '), rows = taken(text, ' ');
  made.name = text;
  if (made.state.empty() || products.empty() || rows.empty()) return std::nullopt;
  std::vector<Blocks> all;
  while (!products.empty() && products != "-") {
    const auto blocks = blocks_of(taken(products, ','));
    if (!blocks) return std::nullopt;
    all.push_back(*blocks);
  }
  if (rows != "-") {
    const auto op = parse_memory_op(taken(rows, ':'));
    double count = 0, columns = 0;
    if (!op || !take_number(rows, ':', count) || !take_number(rows, ':', columns))
      return std::nullopt;
    MemoryBound bound;
    bound.op = *op;
    bound.rows = size(count);
    bound.columns = size(columns);
    bound.read = Bytes{made.read};
    bound.written = Bytes{made.written};
    made.rows = bound;
  }
  const bool attends =
      std::any_of(all.begin(), all.end(), [](const Blocks& b) { return b.attends; });
  if (attends) {
    attend(made, all);
  } else {
    for (const Blocks& one : all) made.products.push_back({product_of(one), 1});
  }
  return made;
}

}  // namespace flopcast::live
