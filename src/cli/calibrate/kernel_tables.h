// What calibrate kernels and validate kernels have in common: a chip, and tables of measurements.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/terminal/cli11.h"
#include "cli/terminal/io.h"
#include "flopcast/cost/fit.h"

namespace flopcast::cli {

struct KernelTables {
  std::vector<std::filesystem::path> files;
  std::string chip;
};
void add_kernel_tables(CLI::App& command, KernelTables& tables);

struct MeasuredChip {
  Chip chip;
  KernelSamples samples;  ///< of all files
};
/// Rows that say nothing usable are named on stderr.
Result<MeasuredChip> read_kernel_tables(Io& io, const KernelTables& tables);

}  // namespace flopcast::cli
