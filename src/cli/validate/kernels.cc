// flopcast validate kernels: forecasts measured kernels and prints how far off they are.
#include <fmt/format.h>

#include <memory>

#include "cli/calibrate/kernel_tables.h"
#include "cli/terminal/command.h"
#include "cli/terminal/options.h"
#include "flopcast/machine.h"
#include "flopcast/report/cost.h"

namespace flopcast::cli {
namespace {

struct ValidateKernels {
  KernelTables tables;
  KernelModelOptions model;
  std::vector<std::string> fits;
  bool json = false;
};

int run_validate(Io& io, const ValidateKernels& command) {
  const Result<MeasuredChip> measured = read_kernel_tables(io, command.tables);
  if (!measured) return fail(io, measured.error());
  std::string line = measured->chip.name;
  if (const auto problem = take_fits(line, command.fits)) return fail(io, *problem);
  Result<Cluster> chip = Catalog::builtin().cluster(line);
  if (!chip) return fail(io, chip.error());
  const Result<Machine> machine =
      Machine::make(std::move(*chip), Catalog::builtin(),
                    {command.model, nullptr, {FitKind::kKernels}, "validate kernels"});
  if (!machine) return fail(io, machine.error());
  const auto errors =
      kernel_errors(measured->chip.name, forecast_all(machine->kernels(), measured->samples.rows));
  const std::string what = command.model.relative.empty()
                               ? "every row"
                               : fmt::format("every row, scaled from {}", command.model.relative);
  return print(io,
               command.json ? kernel_errors_json(errors, what, measured->samples.anomalies)
                            : kernel_errors_text(errors, what),
               {command.json, false});
}

}  // namespace

void add_validate_kernels(CLI::App& validate, Action& action) {
  CLI::App* sub = validate.add_subcommand(
      "kernels", "Forecast measured kernels; errors per chip, operation and size class");
  const auto command = std::make_shared<ValidateKernels>();
  add_kernel_tables(*sub, command->tables);
  CLI::Option* fit = add_fits(*sub, command->fits);
  sub->add_option("--from", command->model.relative,
                  "As if this chip were the only one measured: scale its fits by roofline ratios")
      ->type_name("CHIP")
      ->excludes(fit);
  sub->add_flag("--json", command->json, "Print JSON (docs/reference/json.md)");
  set_example(*sub, "flopcast validate kernels examples/gemm_a100.csv --chip a100");
  sub->callback(
      [command, &action] { action = [command](Io& io) { return run_validate(io, *command); }; });
}

}  // namespace flopcast::cli
