#include "cli/terminal/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text/numbers.h"

namespace flopcast::cli {
namespace {

/// An option that takes one of several names. The default is shown in --help.
template <typename Enum>
void add_choice(CLI::App& command, const std::string& flag, Enum& value,
                const std::vector<Enum>& choices, const char* (*name)(Enum),
                const std::string& text) {
  std::map<std::string, Enum> by_name;
  std::string names;
  for (const Enum choice : choices) {
    by_name.emplace(name(choice), choice);
    names += (names.empty() ? "" : "|") + std::string(name(choice));
  }
  const auto parse = [&value, by_name, names, flag](const std::string& text_given) {
    const auto found = by_name.find(text_given);
    if (found == by_name.end()) {
      throw CLI::ValidationError(flag, fmt::format("expected {}, found '{}'", names, text_given));
    }
    value = found->second;
  };
  command.add_option_function<std::string>(flag, parse, text)->type_name(names);
}

}  // namespace

void add_input(CLI::App& command, InputOptions& options) {
  command
      .add_option("PATH", options.paths,
                  "Kineto traces (.json, .json.gz), or folders of them: one file per rank; or a "
                  "pack (.fcpack)")
      ->required()
      ->type_name("");
  command
      .add_option("--prefix", options.prefix,
                  "Only files whose names start so: one run of a folder that holds several")
      ->type_name("RUN");
  command.add_option("--threads", options.threads, "Threads to read with; 0 means every core")
      ->type_name("N")
      ->capture_default_str();
}

void add_steps(CLI::App& command, std::optional<StepRange>& steps) {
  command
      .add_option_function<std::string>(
          "--steps", [&steps](const std::string& text) { steps = step_range(text); },
          "Only these steps, such as 12 or 12:14; of a pack nothing else is read")
      ->type_name("FIRST[:LAST]");
}

void add_format(CLI::App& command, FormatOptions& options, bool with_csv) {
  CLI::Option* json =
      command.add_flag("--json", options.json, "Print JSON (docs/reference/json.md)");
  if (with_csv) {
    command.add_flag("--csv", options.csv, "Print rows separated by commas")->excludes(json);
  }
}

void add_lags(CLI::App& command, LagMode& lags) {
  add_choice(command, "--lags", lags, {LagMode::kTypical, LagMode::kZero, LagMode::kRecorded},
             lag_mode_name,
             "Delay from the end of a dependency to the task it frees: the median of its kind "
             "(default), none, or each as recorded (for what-if only: says nothing of accuracy)");
}

void add_baseline(CLI::App& command, Baseline& baseline) {
  add_choice(command, "--baseline", baseline,
             {Baseline::kSingleStream, Baseline::kNoInterStream, Baseline::kDpro}, baseline_name,
             "Replay a simpler model of the literature on the same graph instead of the full one");
}

Result<std::pair<unsigned, unsigned>> parse_shard(std::string_view text) {
  const std::size_t slash = std::min(text.find('/'), text.size());
  const auto shard = parse_whole<unsigned>(text.substr(0, slash));
  const auto shards = parse_whole<unsigned>(text.substr(std::min(slash + 1, text.size())));
  if (shard && shards && *shard < *shards) return std::pair(*shard, *shards);
  return usage_error("--shard", fmt::format("expected I/N with I from 0 to N-1, found '{}'", text),
                     "write --shard 0/8 to --shard 7/8");
}

CLI::Option* add_fits(CLI::App& command, std::vector<std::string>& fits, const std::string& names) {
  return command
      .add_option(names, fits,
                  "Measurements of your own that come before the catalogue's: files of flopcast "
                  "calibrate; may be repeated. Like \"fit FILE\" in the line of the cluster")
      ->type_name("FILE.toml")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

std::optional<Diagnostic> take_fits(std::string& cluster, const std::vector<std::string>& fits,
                                    std::string_view flag) {
  if (fits.empty()) return std::nullopt;
  Result<std::string> line = with_fits(cluster, fits);
  if (!line) {
    Diagnostic error = line.error();
    error.where = "--fit";
    if (cluster.empty()) error.hint = fmt::format("name it with {}", flag);
    return error;
  }
  cluster = std::move(*line);
  return std::nullopt;
}

void add_network(CLI::App& command, NetworkOptions& network) {
  command
      .add_option("--network", network.cluster,
                  "Transfer times of collectives from the model of this cluster, such as \"2 x "
                  "dgx-h100\", instead of the recording; ranks are its chips in order")
      ->type_name("CLUSTER");
  add_fits(command, network.fits);
}

Result<std::optional<Machine>> network_machine(NetworkOptions network) {
  if (auto problem = take_fits(network.cluster, network.fits, "--network")) return *problem;
  if (network.cluster.empty()) return std::optional<Machine>();
  const Catalog& catalog = Catalog::builtin();
  const Result<Cluster> named = catalog.cluster(network.cluster);
  if (!named) return named.error();
  Result<Machine> machine =
      Machine::make(*named, catalog, with_uses({FitKind::kNetwork}, "a network of replays"));
  if (!machine) return machine.error();
  return std::optional<Machine>(std::move(*machine));
}

}  // namespace flopcast::cli
