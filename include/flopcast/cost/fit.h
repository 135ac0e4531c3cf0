// Floor 2: fitting the kernel-time model to measurements, and proving it on others.
//
//   const Result<KernelSamples> samples = read_kernel_samples("h100_gemm.csv.gz");
//   const KernelFit fit = calibrate_kernels(chip, samples->rows, "my lab, library 1.2");
//   write_file("h100.toml", fit.toml());
//   const KernelModel model = KernelModel::make(chip, fit);
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/cost.h"
#include "flopcast/cost/kernel_fit.h"

namespace flopcast {

/// One measured kernel.
struct KernelSample {
  Kernel kernel;  ///< what was run
  Seconds time;   ///< how long it took
};
/// Measured kernels of a file.
struct KernelSamples {
  std::vector<KernelSample> rows;  ///< in the order of the file
  Anomalies anomalies;             ///< rows that say nothing usable: counted, the first one named
};
/// A CSV file, plain or gzip, its kind known by its columns (latencies in ms):
///   gemm_dtype,m,n,k,latency
///   batch_size,isl[,step],num_heads,num_key_value_heads,head_dim,window_size,attn_dtype,
///       kv_cache_dtype,latency           prefill; with `step` decode, cache length isl + step
///   moe_dtype,num_tokens,hidden_size,inter_size,topk,num_experts,moe_tp_size,moe_ep_size,
///       distribution,latency             rows of one layer count once, by their least latency
///   num_tokens,n_embd,n_head,...,time_stats.OP.median   Vidur: its memory-bound operators
///   op,rows,columns,dtype,latency        memory-bound operators
/// Errors: cannot be read, none of these kinds, no usable row.
Result<KernelSamples> read_kernel_samples(const std::filesystem::path& path);
/// The same from text; `where` names it in errors.
Result<KernelSamples> parse_kernel_samples(std::string text, const std::string& where);

/// Fits every class of kernels the samples hold. Deterministic: same samples, same bytes.
/// @param source what was measured, shown with every answer.
KernelFit calibrate_kernels(const Chip& chip, std::span<const KernelSample> samples,
                            std::string_view source);
/// One fit with all the classes of both; those of `b` win.
KernelFit merge(const KernelFit& a, const KernelFit& b);

/// Which samples to keep out of a fit, to be forecast by it.
enum class KernelHoldOut : std::uint8_t {
  kRandom,   ///< "rand20": a fifth of the rows
  kPairs,    ///< "nkpair": a fifth of the (n, k) of GEMMs, of the (heads, kv heads) of attention
  kLargest,  ///< "largest": the tenth with most FLOP (bytes, where there are none) per operation
  kSmallM,   ///< "smallm": GEMMs of m <= 4
  kTokens,   ///< "tokens": a fifth of the token counts of MoE layers
  kModels,  ///< "models": each MoE layer (memory-bound: width) in turn, a quarter of them at a time
};
/// by the names above
std::optional<KernelHoldOut> parse_kernel_hold_out(std::string_view text);
/// Fold (from 0) each sample is kept out in; -1: in none. Other folds than 0 only for kModels.
std::vector<int> hold_out_folds(std::span<const KernelSample> samples, KernelHoldOut kind,
                                std::uint64_t seed);

/// Errors of one operation and size class: fractions of the measured time.
struct KernelErrors {
  std::string chip, operation;  ///< "gemm bf16", "attention prefill bf16", "moe fp8", "rms_norm"
  std::string size_class;       ///< by measured time: "< 10 us"; "all" for the sum
  std::uint64_t rows = 0;       ///< how many were compared
  double mape = 0, median = 0, p95 = 0;  ///< of |predicted / measured - 1|
  double bias = 1;                       ///< median of predicted / measured
  double band_coverage = 0;              ///< share of measured times within [low, high]
  double band_width = 1;                 ///< median of sqrt(high / low)
};
/// A forecast of one sample.
struct KernelForecast {
  const KernelSample* sample = nullptr;  ///< lives as long as the samples
  KernelTime forecast;                   ///< of it
};
/// In the order of the samples.
std::vector<KernelForecast> forecast_all(const KernelModel& model,
                                         std::span<const KernelSample> samples);
/// One entry per operation and size class, operations in order of first appearance.
std::vector<KernelErrors> kernel_errors(std::string_view chip,
                                        std::span<const KernelForecast> forecasts);
/// Fits without what is kept out and forecasts that, fold by fold.
std::vector<KernelErrors> held_out_errors(const Chip& chip, std::span<const KernelSample> samples,
                                          KernelHoldOut kind, std::uint64_t seed);
/// "gemm bf16"
std::string operation_name(const Kernel& kernel);

}  // namespace flopcast
