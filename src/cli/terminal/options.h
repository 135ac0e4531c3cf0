// Options that several commands share.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/terminal/cli11.h"
#include "cli/terminal/io.h"
#include "flopcast/machine.h"
#include "flopcast/replay.h"

namespace flopcast::cli {

/// Which traces to read, and how.
struct InputOptions {
  std::vector<std::filesystem::path> paths;
  std::string prefix;
  unsigned threads = 0;
  std::optional<StepRange> steps;
  bool keep_arguments = true;  ///< of operators; no flag: the command knows what it needs
};
void add_input(CLI::App& command, InputOptions& options);

/// --steps FIRST[:LAST].
void add_steps(CLI::App& command, std::optional<StepRange>& steps);

void add_format(CLI::App& command, FormatOptions& options, bool with_csv);

void add_lags(CLI::App& command, LagMode& lags);
void add_baseline(CLI::App& command, Baseline& baseline);

/// "2/8": part 2 of 8, numbered from 0.
Result<std::pair<unsigned, unsigned>> parse_shard(std::string_view text);

/// --network CLUSTER: transfers of collectives from the model of that cluster.
void add_network(CLI::App& command, std::string& cluster);
/// None where `cluster` is empty.
Result<std::optional<Machine>> network_machine(const std::string& cluster);

}  // namespace flopcast::cli
