#include "cli/calibrate/collective_options.h"

#include <fmt/format.h>

#include <array>

#include "cli/terminal/folders.h"
#include "flopcast/report/network.h"

namespace flopcast::cli {

void add_table(CLI::App& command, CollectiveTable& table) {
  command
      .add_option("TABLE", table.file,
                  "What nccl-tests printed, or a folder of that, or CSV: gpu, system, op, impl, "
                  "dtype, gpus, nodes, bytes, "
                  "time_us; plain or gzip")
      ->required()
      ->type_name("");
  const auto count = [&](const char* flag, std::int64_t& to, const char* what) {
    command.add_option(flag, to, what)->type_name("N")->check(CLI::Range(1, 1 << 24));
  };
  count("--ranks", table.told.ranks,
        "Of what nccl-tests printed: ranks that took part, where neither its lines nor its "
        "bandwidths tell");
  count("--nodes", table.told.nodes, "The same of nodes");
}

void add_collective_options(CLI::App& command, CollectiveOptions& options) {
  command
      .add_option("--source", options.source,
                  "What forecasts rest on: best, table, fitted, nccl or alpha_beta")
      ->type_name("SOURCE")
      ->capture_default_str();
  command
      .add_option("--algorithm", options.algorithm,
                  "With --source nccl or alpha_beta: this algorithm instead of NCCL's choice")
      ->type_name("NAME")
      ->capture_default_str();
  command.add_flag("--json", options.json, "Print JSON (docs/reference/json.md)");
}

Result<ValidateOptions> validate_options(const CollectiveOptions& options) {
  const auto source = parse_collective_source(options.source);
  if (!source) {
    return Diagnostic{ErrorCode::kUsage, "--source", fmt::format("'{}'", options.source),
                      "one of best, table, fitted, nccl, alpha_beta"};
  }
  const auto algorithm = parse_collective_algorithm(options.algorithm);
  if (!algorithm) {
    return Diagnostic{ErrorCode::kUsage, "--algorithm", fmt::format("'{}'", options.algorithm),
                      "one of auto, ring, tree, halving_doubling, direct, bruck, hierarchical, "
                      "torus, nvls, nvls_tree, pat, dual_network"};
  }
  return ValidateOptions{*source, *algorithm};
}

Result<std::vector<CollectiveSample>> read_samples(Io& io, const CollectiveTable& table) {
  Anomalies anomalies;
  constexpr std::array<std::string_view, 4> kEndings = {".csv", ".csv.gz", ".txt", ".log"};
  const auto files = files_of(table.file, kEndings);
  if (!files) return files.error();
  std::vector<CollectiveSample> samples;
  for (const std::filesystem::path& file : *files) {
    const auto read = read_collective_samples(file, anomalies, table.told);
    if (!read) return read.error();
    samples.insert(samples.end(), read->begin(), read->end());
  }
  for (const Anomaly& anomaly : anomalies.list()) {
    warn(io, fmt::format("{} rows left out: {} ({})", anomaly.count, anomaly.kind, anomaly.first));
  }
  return samples;
}

int print_validation(Io& io, const CollectiveOptions& options,
                     const CollectiveValidation& validation) {
  return print(
      io, options.json ? collective_errors_json(validation) : collective_errors_text(validation),
      {options.json, false});
}

}  // namespace flopcast::cli
