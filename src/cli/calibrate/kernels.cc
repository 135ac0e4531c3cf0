// flopcast calibrate kernels: fits the kernel-time model to measurements of one chip.
#include <fmt/format.h>

#include <memory>

#include "cli/calibrate/kernel_tables.h"
#include "cli/terminal/command.h"
#include "cli/terminal/outputs.h"
#include "flopcast/report/cost.h"

namespace flopcast::cli {
namespace {

struct CalibrateKernels {
  KernelTables tables;
  std::filesystem::path out;
  std::string source, hold_out;
  std::uint64_t seed = 1;
  bool json = false;
};

int print_errors(Io& io, const CalibrateKernels& command, const MeasuredChip& measured,
                 const std::vector<KernelErrors>& errors, const std::string& what) {
  return print(io,
               command.json ? kernel_errors_json(errors, what, measured.samples.anomalies)
                            : kernel_errors_text(errors, what),
               {command.json, false});
}

int run_hold_out(Io& io, const CalibrateKernels& command, const MeasuredChip& measured) {
  const std::optional<KernelHoldOut> kind = parse_kernel_hold_out(command.hold_out);
  if (!kind) {
    return fail(io, {ErrorCode::kUsage, "--hold-out", fmt::format("'{}'", command.hold_out),
                     "one of rand20, nkpair, largest, smallm, tokens, models"});
  }
  const auto errors = held_out_errors(measured.chip, measured.samples.rows, *kind, command.seed);
  if (errors.empty()) {
    return fail(io, {ErrorCode::kUsage, "--hold-out " + command.hold_out,
                     "these tables have no such rows", "rand20 works on every table"});
  }
  return print_errors(
      io, command, measured, errors,
      fmt::format("kept out of the fit: {}, seed {}", command.hold_out, command.seed));
}

int run_calibrate(Io& io, const CalibrateKernels& command) {
  const Result<MeasuredChip> measured = read_kernel_tables(io, command.tables);
  if (!measured) return fail(io, measured.error());
  if (!command.hold_out.empty()) return run_hold_out(io, command, *measured);
  std::string source = command.source;
  for (const auto& file : command.tables.files) {
    if (command.source.empty()) source += (source.empty() ? "" : ", ") + file.filename().string();
  }
  const KernelFit fit = calibrate_kernels(measured->chip, measured->samples.rows, source);
  if (!command.out.empty()) {
    const std::string text = fit.toml();
    if (const int code = write_told(io, "fit", command.out, text); code != kDone) return code;
  }
  const KernelModel model = KernelModel::make(measured->chip, fit);
  const auto errors =
      kernel_errors(measured->chip.name, forecast_all(model, measured->samples.rows));
  return print_errors(io, command, *measured, errors, "the rows fitted; --hold-out for others");
}

}  // namespace

void add_calibrate_kernels(CLI::App& calibrate, Action& action) {
  CLI::App* sub = calibrate.add_subcommand(
      "kernels", "Fit kernel times to measurements of a chip; errors of the fit");
  const auto command = std::make_shared<CalibrateKernels>();
  add_kernel_tables(*sub, command->tables);
  as_output(sub->add_option("-o,--out", command->out, "Write the fit, for --fit of other commands")
                ->type_name("FILE.toml"));
  sub->add_option("--source", command->source, "What was measured, shown with every answer")
      ->type_name("TEXT");
  sub->add_option(
         "--hold-out", command->hold_out,
         "Fit without some rows and print the errors on those: a fifth (rand20), a fifth "
         "of the (n, k) pairs or head counts (nkpair), the tenth with most work (largest), "
         "m <= 4 (smallm), a fifth of the MoE token counts (tokens), MoE layers a quarter "
         "at a time (models)")
      ->type_name("KIND");
  sub->add_option("--seed", command->seed, "Which rows --hold-out keeps out")
      ->type_name("N")
      ->capture_default_str();
  sub->add_flag("--json", command->json, "Print JSON (docs/reference/json.md)");
  set_example(*sub,
              "flopcast calibrate kernels examples/gemm_a100.csv --chip a100 -o demo/a100.toml");
  sub->callback(
      [command, &action] { action = [command](Io& io) { return run_calibrate(io, *command); }; });
}

}  // namespace flopcast::cli
