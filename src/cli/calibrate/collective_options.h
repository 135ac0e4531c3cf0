// What the commands about measured collectives share.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/terminal/cli11.h"
#include "cli/terminal/io.h"
#include "flopcast/measured/network.h"

namespace flopcast::cli {

struct CollectiveOptions {
  std::string source = "best", algorithm = "auto";
  bool json = false;
};
/// Measurements, and what their file does not tell.
struct CollectiveTable {
  std::filesystem::path file;
  RunSize told;
};
void add_table(CLI::App& command, CollectiveTable& table);
void add_collective_options(CLI::App& command, CollectiveOptions& options);
Result<ValidateOptions> validate_options(const CollectiveOptions& options);

/// Reads the table and warns of rows that could not be used.
Result<std::vector<CollectiveSample>> read_samples(Io& io, const CollectiveTable& table);
int print_validation(Io& io, const CollectiveOptions& options,
                     const CollectiveValidation& validation);

}  // namespace flopcast::cli
