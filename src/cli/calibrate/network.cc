// flopcast calibrate network: fits collective times to measurements of one's own systems.
#include <fmt/format.h>

#include <memory>

#include "cli/calibrate/collective_options.h"
#include "cli/terminal/command.h"
#include "cli/terminal/outputs.h"

namespace flopcast::cli {
namespace {

struct CalibrateNetwork {
  CollectiveTable table;
  std::filesystem::path out;
  std::string hold_out;
  CollectiveOptions options;
};

int run_hold_out(Io& io, const CalibrateNetwork& command,
                 const std::vector<CollectiveSample>& samples) {
  const std::optional<CollectiveHoldOut> what = parse_collective_hold_out(command.hold_out);
  if (!what) {
    return fail(io, {ErrorCode::kUsage, "--hold-out", fmt::format("'{}'", command.hold_out),
                     "one of sizes, ranks, nodes, largest, curves, libraries, systems"});
  }
  const Result<ValidateOptions> options = validate_options(command.options);
  if (!options) return fail(io, options.error());
  const CollectiveValidation validation =
      hold_out_collectives(samples, *what, Catalog::builtin(), *options);
  if (validation.all.rows + validation.unanswered == 0) {
    return fail(io, {ErrorCode::kUsage, "--hold-out " + command.hold_out,
                     "this table has no such rows to keep out", "try sizes"});
  }
  return print_validation(io, command.options, validation);
}

int run_calibrate(Io& io, const CalibrateNetwork& command) {
  if (command.options.json && command.hold_out.empty()) {
    return fail(io, flopcast::usage_error("--json", "a fit is TOML: only errors are JSON",
                                          "--hold-out WHAT prints errors, -o FILE writes the fit"));
  }
  const Result<std::vector<CollectiveSample>> samples = read_samples(io, command.table);
  if (!samples) return fail(io, samples.error());
  if (!command.hold_out.empty()) return run_hold_out(io, command, *samples);
  const CollectiveFit fit = CollectiveFit::make(*samples);
  const std::string text = fit.toml();
  if (command.out.empty()) return print(io, text);
  if (const int code = write_told(io, "fit", command.out, text); code != kDone) return code;
  return print(io,
               fmt::format("{} measurements, {} curves, {} systems\n", samples->size(),
                           fit.curves(), fit.systems().size()),
               {});
}

}  // namespace

void add_calibrate_network(CLI::App& calibrate, Action& action) {
  CLI::App* sub = calibrate.add_subcommand(
      "network", "Fit collective times to a table of measurements (nccl-tests and the like)");
  const auto command = std::make_shared<CalibrateNetwork>();
  add_table(*sub, command->table);
  as_output(
      sub->add_option("-o,--out", command->out, "Write the fit here instead of to the terminal")
          ->type_name("FILE"));
  sub->add_option("--hold-out", command->hold_out,
                  "Fit on the rest and print the errors on what is kept out: sizes, ranks, nodes, "
                  "largest, curves, libraries or systems")
      ->type_name("WHAT");
  add_collective_options(*sub, command->options);
  set_example(*sub, "flopcast calibrate network examples/collectives.csv --hold-out sizes");
  sub->callback(
      [command, &action] { action = [command](Io& io) { return run_calibrate(io, *command); }; });
}

}  // namespace flopcast::cli
