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

/// --fit FILE, again and again: measurements of the machine's owner.
CLI::Option* add_fits(CLI::App& command, std::vector<std::string>& fits,
                      const std::string& names = "--fit");
/// Puts the files into the line of the machine, which is where all else finds them. Errors: no machine is named.
/// @param flag that names it
std::optional<Diagnostic> take_fits(std::string& cluster, const std::vector<std::string>& fits,
                                    std::string_view flag = "--on");

/// --network CLUSTER: transfers of collectives from the model of that cluster.
struct NetworkOptions {
  std::string cluster;
  std::vector<std::string> fits;
};
void add_network(CLI::App& command, NetworkOptions& network);
/// None where no cluster is named.
Result<std::optional<Machine>> network_machine(NetworkOptions network);

}  // namespace flopcast::cli
