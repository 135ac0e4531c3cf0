// flopcast validate collectives: forecasts of collectives against measurements.
#include <fmt/format.h>

#include <memory>

#include "cli/calibrate/collective_options.h"
#include "cli/terminal/command.h"

namespace flopcast::cli {
namespace {

struct ValidateCollectives {
  CollectiveTable table;
  std::filesystem::path fit;
  CollectiveOptions options;
};

int run_validate(Io& io, const ValidateCollectives& command) {
  const Result<ValidateOptions> options = validate_options(command.options);
  if (!options) return fail(io, options.error());
  const Result<std::vector<CollectiveSample>> samples = read_samples(io, command.table);
  if (!samples) return fail(io, samples.error());
  std::optional<CollectiveFit> own;
  if (!command.fit.empty()) {
    Result<CollectiveFit> loaded = CollectiveFit::load(command.fit);
    if (!loaded) return fail(io, loaded.error());
    own = std::move(*loaded);
  }
  const CollectiveFit& fit = own ? *own : CollectiveFit::builtin();
  return print_validation(io, command.options,
                          validate_collectives(*samples, fit, Catalog::builtin(), *options));
}

}  // namespace

void add_validate_collectives(CLI::App& validate, Action& action) {
  CLI::App* sub = validate.add_subcommand(
      "collectives", "Forecast measured collectives; errors per system, operation and size");
  const auto command = std::make_shared<ValidateCollectives>();
  add_table(*sub, command->table);
  sub->add_option("--fit", command->fit,
                  "Answer from this fit (flopcast calibrate network -o) instead of the catalogue's")
      ->type_name("FILE");
  add_collective_options(*sub, command->options);
  set_example(*sub, "flopcast validate collectives examples/collectives.csv --source nccl");
  sub->callback(
      [command, &action] { action = [command](Io& io) { return run_validate(io, *command); }; });
}

}  // namespace flopcast::cli
