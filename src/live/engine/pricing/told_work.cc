#include "live/engine/pricing/told_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace flopcast::live {
namespace {

/// More than any tensor has.
constexpr double kMostSize = 1e12;

std::int64_t whole_size(double size) {
  return std::max<std::int64_t>(1, std::llround(std::clamp(size, 0.0, kMostSize)));
}

double total(const std::vector<double>& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), 0.0);
}

/// Amounts of one rule; the first that cannot be had is what is lacking.
class Amounts {
 public:
  Amounts(const Facts& facts, ToldWork& made) : facts_(facts), made_(made) {}

  /// @param otherwise where the rule does not speak of it
  std::vector<double> list(const char* key, const Alternatives& any, double otherwise = 0) {
    if (any.empty()) return {otherwise};
    bool passed_over = false;
    Evaluated last;
    for (const Expression& one : any) {
      last = one.evaluate(facts_);
      if (!last.amount) {
        passed_over = passed_over || last.lack == Lack::kValues;
        continue;
      }
      made_.assumed = made_.assumed || passed_over;
      for (double& number : last.amount->numbers) number = std::clamp(number, 0.0, kMostBytes);
      return last.amount->list || !last.amount->numbers.empty() ? last.amount->numbers
                                                                : std::vector<double>{otherwise};
    }
    lacks(last.lack == Lack::kValues
              ? fmt::format("{}: nobody knows what '{}' holds", key, last.name)
              : fmt::format("{}: there is no '{}'", key, last.name));
    return {otherwise};
  }
  double one(const char* key, const Alternatives& any, double otherwise = 0) {
    return total(list(key, any, otherwise));
  }
  void lacks(std::string what) {
    if (made_.lack.empty()) made_.lack = std::move(what);
  }
  /// Of an argument, or the type itself.
  const OperatorTensor* tensor(const std::string& name) const {
    if (!facts_.call) return nullptr;
    for (const auto* list : {&facts_.call->inputs, &facts_.call->outputs})
      for (const OperatorTensor& one : *list)
        if (one.name == name) return &one;
    return nullptr;
  }
  DataType data_type(const char* key, const std::string& text) {
    if (const auto type = parse_data_type(text)) return *type;
    const OperatorTensor* const tensor_of = tensor(text);
    if (!tensor_of) lacks(fmt::format("{}: there is no '{}'", key, text));
    // Bytes of no type of their own are eight bits of some floating-point number.
    const bool narrow = tensor_of && tensor_of->element_bytes == 1;
    return tensor_of ? tensor_of->type.value_or(narrow ? DataType::kFp8 : DataType::kBf16)
                     : DataType::kBf16;
  }
  GemmType gemm_type(const std::string& text) {
    if (const auto type = parse_gemm_type(text)) return *type;
    const OperatorTensor* const tensor_of = tensor(text);
    if (tensor_of && !tensor_of->type && tensor_of->element_bytes == 1)
      return GemmType::kSmoothQuant;
    switch (data_type("type", text)) {
      case DataType::kFp16:
        return GemmType::kFp16;
      case DataType::kFp8:
        return GemmType::kFp8Static;
      case DataType::kBf16:
        return GemmType::kBf16;
      default:
        return GemmType::kFp32;
    }
  }

 private:
  static constexpr double kMostBytes = 1e18;
  const Facts& facts_;
  ToldWork& made_;
};

/// Of products with rows of their own each (experts), one that is a batch of mean ones.
CountedKernel::Part product(const ProductRule& rule, Amounts& amounts) {
  const std::vector<double> rows = amounts.list("m", rule.m);
  const auto busy = static_cast<double>(
      std::count_if(rows.begin(), rows.end(), [](double one) { return one > 0; }));
  const double count = amounts.one("count", rule.count, 1) * std::max(1.0, busy);
  Gemm gemm;
  gemm.type = amounts.gemm_type(rule.type);
  gemm.m = whole_size(total(rows) / std::max(1.0, busy));
  gemm.n = whole_size(amounts.one("n", rule.n));
  gemm.k = whole_size(amounts.one("k", rule.k));
  gemm.batch = whole_size(count);
  const double asked = total(rows) * count / std::max(1.0, busy);
  return {gemm, asked / (static_cast<double>(gemm.m) * static_cast<double>(gemm.batch))};
}

/// Tokens of one sequence, and how many sequences are like it.
struct Sequence {
  double queries = 0, keys = 0, times = 1;
};

std::vector<Sequence> sequences_of(const AttentionRule& rule, Amounts& amounts) {
  const std::vector<double> queries = amounts.list("queries", rule.queries);
  const std::vector<double> keys = amounts.list("keys", rule.keys);
  std::vector<Sequence> all;
  if (queries.size() == 1 && keys.size() == 1)
    return {{queries[0], keys[0], amounts.one("sequences", rule.sequences, 1)}};
  const std::size_t count = std::max(queries.size(), keys.size());
  const bool even = std::min(queries.size(), keys.size()) == 1 || queries.size() == keys.size();
  if (!even)
    amounts.lacks(
        fmt::format("queries of {} sequences and keys of {}", queries.size(), keys.size()));
  for (std::size_t i = 0; even && i < count; ++i)
    all.push_back({queries[queries.size() == 1 ? 0 : i], keys[keys.size() == 1 ? 0 : i]});
  return all;
}

/// Sequences of one kind as so much of an attention of equal ones: as long as those are that most of the work is of.
void attend(const std::vector<Sequence>& all, Attention kernel, ToldWork& made) {
  double flops = 0, queries = 0, keys = 0;
  for (const Sequence& one : all) {
    kernel.batch = 1;
    kernel.query_length = whole_size(one.queries);
    kernel.kv_length = whole_size(one.keys);
    const double own = kernel_flops(kernel).value * one.times;
    flops += own;
    queries += own * one.queries;
    keys += own * one.keys;
  }
  if (!(flops > 0)) return;
  kernel.query_length = whole_size(queries / flops);
  kernel.kv_length = whole_size(keys / flops);
  kernel.batch = whole_size(flops / kernel_flops(kernel).value);
  made.products.push_back({kernel, flops / kernel_flops(kernel).value});
}

void attention(const AttentionRule& rule, Amounts& amounts, ToldWork& made) {
  std::vector<Sequence> all = sequences_of(rule, amounts);
  const double dim = amounts.one("dim", rule.dim);
  const double value_dim = amounts.one("value_dim", rule.value_dim, dim);
  Attention kernel;
  kernel.heads = whole_size(amounts.one("heads", rule.heads));
  kernel.kv_heads =
      whole_size(amounts.one("kv_heads", rule.kv_heads, static_cast<double>(kernel.heads)));
  kernel.head_dim = whole_size((dim + value_dim) / 2);
  kernel.causal = amounts.one("causal", rule.causal) > 0;
  kernel.window = static_cast<std::int64_t>(amounts.one("window", rule.window));
  kernel.backward = rule.backward;
  kernel.type = amounts.data_type("type", rule.type);
  kernel.kv_cache = amounts.data_type("cache", rule.cache.empty() ? rule.type : rule.cache);
  const double wide = bytes_per_element(kernel.type), narrow = bytes_per_element(kernel.kv_cache);
  double asked = 0, kept = 0;
  for (const Sequence& one : all) {
    const double window = static_cast<double>(kernel.window);
    const double reached = window > 0 ? std::min(one.keys, one.queries + window) : one.keys;
    asked += one.times * one.queries * static_cast<double>(kernel.heads) * wide;
    kept += one.times * reached * static_cast<double>(kernel.kv_heads) * (dim + value_dim) * narrow;
  }
  made.read = asked * dim + kept;
  made.written = asked * value_dim;
  if (rule.backward) {
    made.read += 2 * asked * value_dim;  // the output and its gradient
    made.written = asked * dim + kept;
  }
  // What looks at nothing is read and written all the same.
  std::erase_if(all, [](const Sequence& one) { return !(one.queries > 0 && one.keys > 0); });
  // One query a sequence is another kernel's work than many are.
  const auto many = std::stable_partition(all.begin(), all.end(),
                                          [](const Sequence& one) { return one.queries <= 1; });
  attend({all.begin(), many}, kernel, made);
  attend({many, all.end()}, kernel, made);
}

}  // namespace

ToldWork told_work(const OperatorRule& rule, const Facts& facts, const Moving& otherwise) {
  ToldWork made;
  made.read = otherwise.read;
  made.written = otherwise.written;
  Amounts amounts(facts, made);
  if (rule.attention) attention(*rule.attention, amounts, made);
  for (const ProductRule& one : rule.products) made.products.push_back(product(one, amounts));
  made.read = amounts.one("read", rule.read, made.read);
  made.written = amounts.one("written", rule.written, made.written);
  return made;
}

}  // namespace flopcast::live
