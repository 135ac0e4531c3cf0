#include "serving/iteration/price.h"

#include <algorithm>
#include <cmath>

namespace flopcast::serving {
namespace {

/// Below the first, kernels are priced by the bytes they read; from the second on by tables.
constexpr double kTablesBegin = 64, kTablesAlone = 512;

/// Launches of an indexer beside its products: norm, rotations, transforms, scales, keys kept, scores, the best of them
/// (SGLang's nsa_indexer.py); of a recurrence: convolution, gates, state, norm.
constexpr double kIndexerKernels = 12, kRecurrenceKernels = 4;

double norm4(double a, double b) {
  const double high = std::max(a, b), low = std::min(a, b);
  if (high <= 0) return 0;
  const double r = low / high, r2 = r * r;
  return high * std::sqrt(std::sqrt(1 + r2 * r2));
}

/// Share of the table's answer at so many rows: 0 to 1, smooth in log rows.
double table_weight(double rows) {
  if (rows <= kTablesBegin) return 0;
  if (rows >= kTablesAlone) return 1;
  const double x = std::log2(rows / kTablesBegin) / std::log2(kTablesAlone / kTablesBegin);
  return x * x * (3 - 2 * x);
}

std::int64_t whole_rows(double rows) {
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::llround(rows)));
}

Gemm gemm_of(const LinearWork& w, double rows, GemmType type) {
  return {whole_rows(rows), w.out, w.in, 1, type};
}

GroupedGemm grouped_of(const ExpertWork& w, double rows, GemmType type) {
  GroupedGemm g;
  g.tokens = whole_rows(rows);
  g.hidden = w.hidden;
  g.intermediate = w.intermediate;
  g.top_k = w.top_k;
  g.experts = w.experts;
  g.tensor_parallel = w.tensor_parallel;
  g.expert_parallel = w.expert_parallel;
  g.type = type;
  g.gated = w.gated;
  return g;
}

}  // namespace

std::string_view name(Part part) {
  constexpr std::array<std::string_view, kParts> kNames = {
      "projections", "attention decode", "attention prefill", "feed-forward",
      "experts",     "norms and copies", "all_reduce",        "exchange",
      "head",        "drafts",           "pipeline",          "launches",
      "host"};
  return kNames[static_cast<std::size_t>(part)];
}

Cost& Cost::operator+=(const Cost& o) {
  seconds += o.seconds, compute += o.compute, bytes += o.bytes, floor += o.floor, links += o.links;
  return *this;
}

Cost Cost::operator*(double f) const {
  return {seconds * f, compute * f, bytes * f, floor * f, links * f};
}

std::string_view Cost::bound() const {
  const double most = std::max({compute, bytes, floor, links});
  if (most <= 0) return "floor";
  if (most == links) return "links";
  if (most == bytes) return "bytes";
  return most == compute ? "compute" : "floor";
}

Pricer::Pricer(const Deployment& d, std::shared_ptr<const ClusterModels> models,
               const Constants& constants)
    : layout_(d.layout),
      work_(stage_work(d)),
      draft_(draft_work(d)),
      constants_(constants),
      models_(std::move(models)),
      bandwidth_(std::max(1.0, d.cluster.chip.hbm_bandwidth.value)),
      head_type_(d.precision.head) {
  if (d.settings.speculation.kind != Speculation::Kind::kNone) {
    draft_count_ = d.settings.speculation.drafts;
  }
  queries_ = 1 + draft_count_;
  floor_ = constants_.kernel_floor_s * constants_.floor_factor;
  // Custom all-reduces need a fabric that chips write each other's memory over.
  constexpr double kFastFabric = 60e9;
  joined_ = layout_.tp * layout_.dp <= d.cluster.chips_per_node() &&
            d.cluster.levels[0].child_bandwidth().value >= kFastFabric;
  strip_tables();
}

/// gpt-oss' 4-bit weights are multiplied in 8 bits where the chip has both.
GemmType Pricer::run_type(GemmType type) const {
  const Chip& chip = models_->cluster().chip;
  const bool narrow = chip.matrix_rate(DataType::kFp4).value > 0;
  return type == GemmType::kMxfp4Weight && narrow ? GemmType::kMxfp4Mxfp8 : type;
}

Cost Pricer::kernel(double flops, double bytes, double peak, double byte_share,
                    double floors) const {
  Cost cost;
  cost.compute = flops / (peak * constants_.flop_share);
  cost.bytes = bytes / (bandwidth_ * byte_share);
  cost.floor = floors * floor_;
  cost.seconds = norm4(cost.compute, cost.bytes) + cost.floor;
  return cost;
}

double Pricer::unpacking(GemmType type) const {
  const bool unpacked = type == GemmType::kInt4WeightOnly || type == GemmType::kMxfp4Weight ||
                        type == GemmType::kInt8WeightOnly;
  return unpacked ? constants_.weight_only_share : 1;
}

double Pricer::linear_share(GemmType type) const {
  return constants_.byte_share * (type == GemmType::kNvfp4 ? constants_.four_bit_share : 1);
}

double Pricer::quantising(GemmType type) const {
  return type == GemmType::kFp8Block ? constants_.quantise_kernels : 0;
}

Cost Pricer::linear(const LinearWork& w, double rows, const Tabled& tabled) const {
  const GemmType type = run_type(w.type);
  const double unpacked = unpacking(type);
  const Gemm one = gemm_of(w, 1, type), two = gemm_of(w, 2, type);
  const double in_out = kernel_bytes(two).value - kernel_bytes(one).value;
  const double values = static_cast<double>(w.in) * static_cast<double>(w.out);
  Cost cost =
      kernel(2 * values * rows, values * stored_bytes(w.type) + in_out * rows,
             models_->peak(type) * unpacked, linear_share(type) * unpacked, 1 + quantising(type));
  const double weight = table_weight(rows);
  if (weight > 0) {
    const KernelTime table = models_->kernels().time(gemm_of(w, rows, type));
    const double measured =
        std::max((table.time.value - tabled.strip) * constants_.table_time, table.roofline.value) /
            unpacked +
        cost.floor;
    cost.seconds += weight * (measured - cost.seconds);
  }
  return cost * w.count;
}

Cost Pricer::experts(const ExpertWork& w, double tokens, const Tabled& tabled) const {
  if (tokens <= 0) return {};
  const GemmType type = run_type(w.type);
  const double unpacked = unpacking(type);
  const double imbalance = w.expert_parallel > 1 ? constants_.imbalance : 1;
  const double rows = w.rows(tokens) * imbalance;
  const double moved =
      2 * rows *
      (2 * static_cast<double>(w.hidden) +
       w.matrices() * static_cast<double>(w.intermediate) / static_cast<double>(w.tensor_parallel));
  const double bytes =
      w.touched(tokens, constants_.routing_spread) * w.values() * stored_bytes(w.type) + moved;
  // Sorting, and a kernel before and behind the activation.
  Cost cost = kernel(2 * rows * w.values(), bytes, models_->peak(type) * unpacked,
                     constants_.expert_byte_share * unpacked, 3 + 2 * quantising(type));
  const double weight = table_weight(tokens);
  if (weight > 0) {
    const KernelTime table = models_->kernels().time(grouped_of(w, tokens, type));
    const double measured = std::max((table.time.value - tabled.strip) * constants_.table_time,
                                     std::max(table.roofline.value, bytes / bandwidth_)) +
                            cost.floor;
    cost.seconds += weight * (measured * imbalance / unpacked - cost.seconds);
  }
  return cost * w.count;
}

/// What tables hold at few rows beyond the bytes: launches and quantisation that graphs and fusion hide.
void Pricer::strip_tables() {
  constexpr double kFew = 16, kMostLinear = 15e-6, kMostExperts = 60e-6;
  for (const LinearWork& w : work_.linears) {
    const GemmType type = run_type(w.type);
    const Cost form = linear(w, kFew, {}) * (1 / w.count);
    const KernelTime table = models_->kernels().time(gemm_of(w, kFew, type));
    basis_ = std::max(basis_, table.basis);
    const double over = table.time.value - (form.seconds - form.floor);
    linear_tables_.push_back({std::clamp(over, 0.0, kMostLinear)});
  }
  for (const ExpertWork& w : work_.experts) {
    const Cost form = experts(w, kFew, {}) * (1 / w.count);
    const KernelTime table = models_->kernels().time(grouped_of(w, kFew, run_type(w.type)));
    basis_ = std::max(basis_, table.basis);
    const double over = table.time.value - (form.seconds - form.floor);
    expert_tables_.push_back({std::clamp(over, 0.0, kMostExperts)});
  }
  const AttentionWork& a = work_.attention;
  if (a.heads == 0) return;
  // One long prompt fills a chip: its share of the peak is that of prompts side by side.
  Attention prompt{.batch = 1,
                   .query_length = 4096,
                   .kv_length = 4096,
                   .heads = a.heads,
                   .kv_heads = a.kv_heads,
                   .head_dim = a.head_dim};
  const double seconds = models_->kernels().time(prompt).time.value;
  const double share = kernel_flops(prompt).value / seconds / attention_peak();
  prefill_share_ = constants_.prompt_flop_share > 0 ? constants_.prompt_flop_share
                                                    : std::clamp(share, 0.15, 0.85);
}

double Pricer::attention_peak() const { return models_->peak(GemmType::kBf16); }

Cost Pricer::moved(double bytes, double floors) const {
  Cost cost;
  cost.bytes = bytes / (bandwidth_ * constants_.byte_share);
  cost.floor = floors * floor_;
  cost.seconds = cost.bytes + cost.floor;
  return cost;
}

Cost Pricer::transfer(CollectiveOp op, unsigned count, unsigned stride, double bytes) const {
  Cost cost;
  if (count < 2 || bytes <= 0) return cost;
  const TransferCurve& curve = models_->curve(op, count, stride);
  const double least = curve.at(1), whole = curve.at(bytes);
  cost.seconds = whole;
  if (joined_) {
    // What an engine's own kernels spare of a small message was measured on the nominal machine: slower links are waited
    // for, and faster ones spare no more than all.
    const double own = constants_.collective_s;
    const double spared = curve.nominal_least - std::min(own, curve.nominal_least);
    cost.seconds = std::max(whole - spared, std::min(own, least));
  }
  cost.links = std::min(whole - least, cost.seconds);
  cost.floor = cost.seconds - cost.links;
  return cost;
}

PartCosts Pricer::own_of(const StageWork& work, const std::vector<Tabled>* tabled,
                         double rows) const {
  PartCosts costs;
  if (rows <= 0) return costs;
  for (std::size_t i = 0; i < work.linears.size(); ++i) {
    const LinearWork& w = work.linears[i];
    const Part part = w.place == LinearWork::Place::kAttention     ? Part::kProjections
                      : w.place == LinearWork::Place::kFeedForward ? Part::kFeedForward
                                                                   : Part::kExperts;
    // Without tables of its own a draft is priced by bytes: its batches are small.
    of(costs, part) += tabled ? linear(w, rows, (*tabled)[i])
                              : linear(w, std::min(rows, kTablesBegin), {}) *
                                    std::max(1.0, rows / kTablesBegin / 8);
  }
  const double state = rows * static_cast<double>(work.hidden) * 2;
  const double blocks = (work.mixers + work.feed_forwards) / 2;
  of(costs, Part::kElementWise) +=
      moved(constants_.hidden_passes * blocks * state, constants_.element_kernels * 2 * blocks);
  const double reduced =
      work.mixers + (layout_.dp > 1 ? work.dense_feed_forwards : work.feed_forwards);
  of(costs, Part::kAllReduce) += transfer(CollectiveOp::kAllReduce, layout_.tp, 1, state) * reduced;
  return costs;
}

/// Tokens to the ranks of their experts and back, as engines do it: every rank gets all tokens and sums are scattered, or each
/// token goes to its experts' ranks alone, in 8 bits, and comes back in 16 (DeepEP, TensorRT-LLM's MNNVL all-to-all). The
/// cheaper of the two: launches choose by ranks and tokens.
Cost Pricer::exchange(const ExpertWork& w, double longest) const {
  const double values = longest * static_cast<double>(w.hidden);
  const double gathered = 2 * values * layout_.dp;
  Cost whole = transfer(CollectiveOp::kAllGather, layout_.dp, layout_.tp, gathered);
  whole += transfer(CollectiveOp::kReduceScatter, layout_.dp, layout_.tp, gathered);
  if (w.expert_parallel < 2) return whole;
  const double sent = values * std::min<double>(static_cast<double>(w.top_k), layout_.dp);
  Cost routed = transfer(CollectiveOp::kAllToAll, layout_.dp, layout_.tp, sent);
  routed += transfer(CollectiveOp::kAllToAll, layout_.dp, layout_.tp, 2 * sent);
  return routed.seconds < whole.seconds ? routed : whole;
}

PartCosts Pricer::all_of(const StageWork& work, const std::vector<Tabled>* tabled, double rows,
                         double longest) const {
  PartCosts costs;
  if (rows <= 0) return costs;
  for (std::size_t i = 0; i < work.experts.size(); ++i) {
    const ExpertWork& w = work.experts[i];
    of(costs, Part::kExperts) +=
        experts(w, tabled ? rows : std::min(rows, kTablesBegin), tabled ? (*tabled)[i] : Tabled{});
    const double copy = w.rows(rows) * static_cast<double>(w.hidden) * 2;
    of(costs, Part::kElementWise) += moved(constants_.copy_passes * copy * w.count, 0);
    const double apart = constants_.expert_layer_s * w.count;
    of(costs, Part::kElementWise) += {.seconds = apart, .floor = apart};
    if (layout_.dp < 2) continue;
    of(costs, Part::kExchange) += exchange(w, longest) * w.count;
  }
  return costs;
}

PartCosts Pricer::own(double rows) const { return own_of(work_, &linear_tables_, rows); }

PartCosts Pricer::all(double rows, double longest) const {
  return all_of(work_, &expert_tables_, rows, longest);
}

Cost Pricer::head_of(const StageWork& work, double rows) const {
  if (!work.has_head || rows <= 0) return {};
  LinearWork w{LinearWork::Place::kFeedForward, work.hidden, work.vocab,
               head_type_ == DataType::kFp8 ? GemmType::kFp8 : GemmType::kBf16, 1};
  Cost cost = linear(w, rows, {});
  // Logits in 32 bits: written, read for the largest or the sums, read to sample.
  const double logits = rows * static_cast<double>(work.vocab) * 4;
  cost += moved(3 * logits, 3);
  cost += transfer(CollectiveOp::kAllGather, layout_.tp, 1, logits * layout_.tp);
  return cost;
}

Cost Pricer::head(double rows) const { return head_of(work_, rows); }

Cost Pricer::drafts(double requests) const {
  Cost sum;
  if (draft_count_ == 0 || requests <= 0) return sum;
  const PartCosts own = own_of(draft_, nullptr, requests);
  const PartCosts all = all_of(draft_, nullptr, requests * layout_.dp, requests);
  for (const Cost& cost : own) sum += cost;
  for (const Cost& cost : all) sum += cost;
  sum += head_of(draft_, requests);
  return sum * draft_count_;
}

Cost Pricer::pipeline(double rows) const {
  if (layout_.pp < 2) return {};
  const double bytes = rows * static_cast<double>(work_.hidden) * 2 / layout_.tp;
  return transfer(CollectiveOp::kSendRecv, 2, layout_.tp * layout_.dp, bytes);
}

Cost Pricer::decode_context(bool capped, bool mixed) const {
  const AttentionWork& a = work_.attention;
  // A draft's own layer reads the context as well, once a draft.
  const AttentionWork& drafted = draft_.attention;
  const double bytes = (capped ? a.capped_bytes : a.full_bytes) +
                       draft_count_ * (capped ? drafted.capped_bytes : drafted.full_bytes);
  const double flops = queries_ * (capped ? a.capped_flops : a.full_flops) +
                       draft_count_ * (capped ? drafted.capped_flops : drafted.full_flops);
  Cost cost;
  cost.compute = flops / (attention_peak() * constants_.attention_flop_share);
  cost.bytes = bytes / (bandwidth_ * constants_.attention_byte_share);
  cost.seconds = norm4(cost.compute, cost.bytes);
  return mixed ? cost * constants_.mixed_attention : cost;
}

Cost Pricer::decode_state() const {
  Cost cost = moved(work_.attention.state_bytes * queries_, 0);
  return cost;
}

Cost Pricer::decode_fixed() const {
  const AttentionWork& a = work_.attention;
  Cost cost;
  cost.floor =
      floor_ * (a.layers + kIndexerKernels * a.indexers + kRecurrenceKernels * a.recurrences);
  cost.seconds = cost.floor;
  return cost;
}

Cost Pricer::prefill_pair(bool capped) const {
  const AttentionWork& a = work_.attention;
  Cost cost;
  cost.compute =
      (capped ? a.capped_pair_flops : a.pair_flops) / (attention_peak() * prefill_share_);
  cost.seconds = cost.compute;
  return cost;
}

Cost Pricer::prefill_context() const {
  const AttentionWork& a = work_.attention;
  Cost cost;
  cost.compute = a.context_flops / (attention_peak() * constants_.flop_share);
  cost.bytes = a.context_bytes / (bandwidth_ * constants_.attention_byte_share);
  cost.seconds = norm4(cost.compute, cost.bytes);
  return cost;
}

Cost Pricer::prefill_token() const {
  const AttentionWork& a = work_.attention;
  Cost cost;
  // Scans run at a low share of the peak: their products are small.
  constexpr double kScanShare = 0.15;
  cost.compute = a.state_flops / (attention_peak() * kScanShare);
  cost.seconds = cost.compute;
  return cost;
}

Cost Pricer::prefill_fixed() const { return decode_fixed(); }

double Pricer::kernels() const {
  // Of a layer with experts: its two products, what lies between, choosing, sorting and gathering copies, summing them.
  constexpr double kExpertKernels = 8;
  // Keys and values are written by a kernel of their own.
  constexpr double kAttentionKernels = 2;
  // What prepares a batch, the embedding, the last norm, the logits and the choice from them.
  constexpr double kEndKernels = 20;
  double count = kEndKernels + kAttentionKernels * work_.attention.layers +
                 kIndexerKernels * work_.attention.indexers +
                 kRecurrenceKernels * work_.attention.recurrences + work_.between;
  for (const LinearWork& linear : work_.linears) {
    count += linear.count * (1 + quantising(linear.type));
  }
  for (const ExpertWork& experts : work_.experts) count += kExpertKernels * experts.count;
  if (layout_.tp > 1) count += work_.mixers + work_.feed_forwards;  // all-reduces
  return count;
}

double Pricer::launch_seconds(bool captures) const {
  return captures ? constants_.eager_layer_s * work_.layers : constants_.eager_kernel_s * kernels();
}

}  // namespace flopcast::serving
