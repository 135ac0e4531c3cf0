// Tables of measured kernels, told apart by their columns.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <tuple>

#include "base/text/csv_table.h"
#include "base/text/numbers.h"
#include "base/text/shown.h"
#include "flopcast/cost/fit.h"

namespace flopcast {
namespace {

constexpr double kMillisecond = 1e-3;

/// One row of a table, by column name. A missing or bad field makes the row bad.
class Row {
 public:
  Row(const CsvTable& table, std::size_t row) : table_(table), row_(row) {}

  std::int64_t count(std::string_view column, std::int64_t least = 1) {
    const double value = number(column);
    if (value >= static_cast<double>(least) && value <= 1e12) {
      return static_cast<std::int64_t>(value);
    }
    complain(fmt::format("{} is {}", column, text(column)));
    return 1;
  }
  Seconds milliseconds(std::string_view column) {
    const double value = number(column);
    if (value > 0 && value <= 1e9) return {value * kMillisecond};
    complain(fmt::format("{} is {}", column, text(column)));
    return {1};
  }
  template <typename T, typename Parse>
  T named(std::string_view column, Parse&& parse) {
    const std::optional<T> value = parse(text(column));
    if (!value) complain(fmt::format("{} is {}", column, text(column)));
    return value.value_or(T{});
  }
  std::string_view text(std::string_view column) const {
    const std::optional<std::size_t> at = table_.find_column(column);
    return at ? table_.text(row_, *at) : std::string_view();
  }
  void complain(std::string what) {
    if (trouble_.empty()) trouble_ = std::move(what);
  }
  const std::string& trouble() const { return trouble_; }
  std::string place() const { return table_.place(row_); }

 private:
  double number(std::string_view column) const {
    const std::optional<std::size_t> at = table_.find_column(column);
    if (!at) return -1;
    const Result<double> value = table_.number(row_, *at);
    return value ? *value : -1;
  }

  const CsvTable& table_;
  std::size_t row_;
  std::string trouble_;
};

using Samples = std::vector<KernelSample>;

void read_gemm(Row& row, Samples& out) {
  Gemm g;
  g.type = row.named<GemmType>("gemm_dtype", parse_gemm_type);
  g.m = row.count("m");
  g.n = row.count("n");
  g.k = row.count("k");
  out.push_back({g, row.milliseconds("latency")});
}

Attention attention_of(Row& row) {
  Attention a;
  a.batch = row.count("batch_size");
  a.heads = row.count("num_heads");
  a.kv_heads = row.count("num_key_value_heads", 0);
  if (a.kv_heads == 0) a.kv_heads = a.heads;
  a.head_dim = row.count("head_dim");
  a.window = row.count("window_size", 0);
  a.type = row.named<DataType>("attn_dtype", parse_data_type);
  a.kv_cache = row.named<DataType>("kv_cache_dtype", parse_data_type);
  return a;
}

void read_prefill(Row& row, Samples& out) {
  Attention a = attention_of(row);
  a.query_length = a.kv_length = row.count("isl");
  out.push_back({a, row.milliseconds("latency")});
}

void read_decode(Row& row, Samples& out) {
  Attention a = attention_of(row);
  a.query_length = 1;
  a.kv_length = row.count("isl") + row.count("step", 0);
  out.push_back({a, row.milliseconds("latency")});
}

std::optional<double> parse_skew(std::string_view text) {
  if (text == "balanced" || text == "uniform") return 0.0;
  constexpr std::string_view kPrefix = "power_law_";
  if (!text.starts_with(kPrefix)) return std::nullopt;
  text.remove_prefix(kPrefix.size());
  const std::optional<double> value = parse_number(text);
  return value && *value >= 0 && *value < 10 ? value : std::nullopt;
}

/// The tables do not tell experts with a gate from those without. These have none: Nemotron 3 Nano
/// and Super (squared ReLU; their Hugging Face config.json, mlp_hidden_act = relu2).
bool has_gate(const GroupedGemm& g) {
  const bool nano = g.hidden == 2688 && g.intermediate == 1856;
  const bool super = g.hidden == 4096 && g.intermediate == 2688;
  return !nano && !super;
}

void read_moe(Row& row, Samples& out) {
  GroupedGemm g;
  g.type = row.named<GemmType>("moe_dtype", parse_gemm_type);
  g.tokens = row.count("num_tokens");
  g.hidden = row.count("hidden_size");
  g.intermediate = row.count("inter_size");
  g.top_k = row.count("topk");
  g.experts = row.count("num_experts");
  g.tensor_parallel = row.count("moe_tp_size");
  g.expert_parallel = row.count("moe_ep_size");
  g.skew = row.named<double>("distribution", parse_skew);
  g.gated = has_gate(g);
  out.push_back({g, row.milliseconds("latency")});
}

void read_memory(Row& row, Samples& out) {
  MemoryBound k;
  k.op = row.named<MemoryOp>("op", parse_memory_op);
  k.rows = row.count("rows");
  k.columns = row.count("columns");
  k.type = row.named<DataType>("dtype", parse_data_type);
  out.push_back({k, row.milliseconds("latency")});
}

/// Vidur profiles a transformer layer operator by operator (fp16, medians in ms). Its projections
/// are GEMMs under a profiler of its own and are left to the GEMM tables.
void read_vidur(Row& row, Samples& out) {
  const std::int64_t tp = row.count("num_tensor_parallel_workers");
  const std::int64_t hidden = row.count("n_embd"), heads = row.count("n_head");
  const std::int64_t head_dim = std::max<std::int64_t>(hidden / heads, 1);
  const bool gated = row.text("use_gated_mlp") == "True";
  const auto norm = gated ? MemoryOp::kRmsNorm : MemoryOp::kLayerNorm;
  const std::int64_t inner = std::max<std::int64_t>(row.count("n_expanded_embd") / tp, 1);
  const std::int64_t rotated =
      std::max<std::int64_t>((heads + row.count("n_kv_head")) * head_dim / tp, 1);
  const std::tuple<std::string_view, MemoryOp, std::int64_t> operators[] = {
      {"emb", MemoryOp::kEmbedding, hidden},
      {"input_layernorm", norm, hidden},
      {"post_attention_layernorm", norm, hidden},
      {"attn_rope", MemoryOp::kRope, rotated},
      {"mlp_act", gated ? MemoryOp::kGatedActivation : MemoryOp::kActivation, inner},
      {"add", MemoryOp::kAdd, hidden}};
  for (const auto& [name, op, columns] : operators) {
    const std::string column = fmt::format("time_stats.{}.median", name);
    if (row.text(column).empty()) continue;
    MemoryBound k;
    k.op = op;
    k.rows = row.count("num_tokens");
    k.columns = columns;
    k.type = DataType::kFp16;
    out.push_back({k, row.milliseconds(column)});
  }
}

/// Tables list the kernels that lost beside the one that runs: the least time of a layer counts.
void keep_fastest_layers(KernelSamples& samples) {
  using Key = std::tuple<GemmType, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                         std::int64_t, std::int64_t, std::int64_t, double>;
  std::map<Key, std::size_t> first;
  Samples kept;
  for (KernelSample& sample : samples.rows) {
    const auto& g = std::get<GroupedGemm>(sample.kernel);
    const auto [at, is_new] =
        first.try_emplace({g.type, g.tokens, g.hidden, g.intermediate, g.top_k, g.experts,
                           g.tensor_parallel, g.expert_parallel, g.skew},
                          kept.size());
    if (is_new) {
      kept.push_back(sample);
    } else {
      kept[at->second].time = std::min(kept[at->second].time, sample.time);
    }
  }
  samples.rows = std::move(kept);
}

struct TableKind {
  std::string_view columns;  ///< what tells the kind, separated by spaces
  void (*read)(Row&, Samples&);
};
constexpr std::array kKinds = {
    TableKind{"gemm_dtype m n k latency", read_gemm},
    TableKind{"batch_size isl step num_heads num_key_value_heads head_dim window_size attn_dtype "
              "kv_cache_dtype latency",
              read_decode},
    TableKind{"batch_size isl num_heads num_key_value_heads head_dim window_size attn_dtype "
              "kv_cache_dtype latency",
              read_prefill},
    TableKind{"moe_dtype num_tokens hidden_size inter_size topk num_experts moe_tp_size "
              "moe_ep_size distribution latency",
              read_moe},
    TableKind{"num_tokens n_embd n_head n_kv_head n_expanded_embd use_gated_mlp "
              "num_tensor_parallel_workers",
              read_vidur},
    TableKind{"op rows columns dtype latency", read_memory},
};

bool has_columns(const CsvTable& table, std::string_view columns) {
  while (!columns.empty()) {
    const std::size_t space = std::min(columns.find(' '), columns.size());
    if (!table.find_column(columns.substr(0, space))) return false;
    columns.remove_prefix(std::min(space + 1, columns.size()));
  }
  return true;
}

Result<KernelSamples> samples_of(const Result<CsvTable>& table, const std::string& where) {
  if (!table) return table.error();
  const auto kind = std::find_if(kKinds.begin(), kKinds.end(), [&table](const TableKind& k) {
    return has_columns(*table, k.columns);
  });
  if (kind == kKinds.end()) {
    return Diagnostic{ErrorCode::kBadInput, where,
                      fmt::format("no kernel table has the columns {}",
                                  excerpt(fmt::format("{}", fmt::join(table->columns(), ", ")))),
                      "GEMM tables need gemm_dtype,m,n,k,latency (ms); flopcast calibrate kernels "
                      "--help lists the others"};
  }
  KernelSamples samples;
  samples.anomalies = table->anomalies();
  for (std::size_t i = 0; i < table->rows(); ++i) {
    Row row(*table, i);
    const std::size_t before = samples.rows.size();
    kind->read(row, samples.rows);
    if (row.trouble().empty()) continue;
    samples.rows.resize(before);
    samples.anomalies.add("bad_row", [&] { return row.place() + ": " + row.trouble(); });
  }
  if (kind->read == read_moe) keep_fastest_layers(samples);
  if (samples.rows.empty()) {
    return Diagnostic{ErrorCode::kBadInput, where, "no usable row",
                      samples.anomalies.empty() ? "the file has only a header"
                                                : samples.anomalies.list().front().first};
  }
  return samples;
}

}  // namespace

Result<KernelSamples> read_kernel_samples(const std::filesystem::path& path) {
  return samples_of(CsvTable::read(path), path.string());
}

Result<KernelSamples> parse_kernel_samples(std::string text, const std::string& where) {
  return samples_of(CsvTable::parse(std::move(text), where), where);
}

}  // namespace flopcast
