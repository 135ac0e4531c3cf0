// Floor 2: fitting the kernel-time model to measurements. Proving it on others: flopcast/measured/kernels.h.
//
//   const Result<KernelSamples> samples = read_kernel_samples("h100_gemm.csv.gz");
//   const KernelFit fit = calibrate_kernels(chip, samples->rows, "my lab, library 1.2");
//   write_file("h100.toml", fit.toml());
//   const KernelModel model = KernelModel::make(chip, fit);
#pragma once

#include <cstdint>
#include <filesystem>
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

/// What is measured and compared alike: "gemm bf16", "attention prefill bf16", "moe fp8", "rms_norm".
std::string operation_name(const Kernel& kernel);
/// The class that a kernel's time is judged in: "< 10 us", "10-100 us", "100 us-1 ms", "> 1 ms".
std::string_view kernel_size_class(Seconds time);

}  // namespace flopcast
