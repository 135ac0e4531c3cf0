#include "cli/calibrate/kernel_tables.h"

#include <fmt/format.h>

#include <array>

#include "cli/terminal/folders.h"

namespace flopcast::cli {

void add_kernel_tables(CLI::App& command, KernelTables& tables) {
  command
      .add_option("FILE", tables.files,
                  "Measured kernels, CSV or CSV.gz, or folders of them, latency in ms; the kind is "
                  "told by the columns: "
                  "gemm_dtype,m,n,k | batch_size,isl[,step],num_heads,num_key_value_heads,head_dim,"
                  "window_size,attn_dtype,kv_cache_dtype | moe_dtype,num_tokens,hidden_size,"
                  "inter_size,topk,num_experts,moe_tp_size,moe_ep_size,distribution | "
                  "op,rows,columns,dtype")
      ->required()
      ->type_name("");
  command.add_option("--chip", tables.chip, "The chip they were measured on (flopcast hw list)")
      ->required()
      ->type_name("NAME");
}

Result<MeasuredChip> read_kernel_tables(Io& io, const KernelTables& tables) {
  Result<Chip> chip = Catalog::builtin().chip(tables.chip);
  if (!chip) return chip.error();
  MeasuredChip out{std::move(*chip), {}};
  constexpr std::array<std::string_view, 2> kEndings = {".csv", ".csv.gz"};
  const auto files = files_of(tables.files, kEndings);
  if (!files) return files.error();
  for (const std::filesystem::path& file : *files) {
    Result<KernelSamples> samples = read_kernel_samples(file);
    if (!samples) return samples.error();
    for (const Anomaly& a : samples->anomalies.list()) {
      warn(io, fmt::format("{} ({} of them, left out): {}", a.kind, a.count, a.first));
    }
    out.samples.anomalies.merge(samples->anomalies);
    out.samples.rows.insert(out.samples.rows.end(), samples->rows.begin(), samples->rows.end());
  }
  return out;
}

}  // namespace flopcast::cli
