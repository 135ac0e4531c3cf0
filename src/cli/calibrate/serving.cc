// flopcast calibrate serving: measured points of a deployment scale what is uncertain about it.
#include <memory>

#include "cli/terminal/command.h"
#include "cli/terminal/outputs.h"
#include "flopcast/report/serving.h"

namespace flopcast::cli {
namespace {

struct CalibrateServing {
  std::filesystem::path points, out;
  bool json = false;
};

int run_calibrate_serving(Io& io, const CalibrateServing& command) {
  const auto points = read_points_csv(command.points);
  if (!points) return fail(io, points.error());
  const auto calibrations = calibrate_deployments(*points, Catalog::builtin());
  if (!calibrations) return fail(io, calibrations.error());
  if (!command.out.empty()) {
    const std::string text = serving_calibration_toml(*calibrations);
    if (const int code = write_told(io, "calibration", command.out, text); code != kDone)
      return code;
  }
  return print(io,
               command.json ? serving_calibration_json(*calibrations)
                            : serving_calibration_text(*calibrations),
               {command.json, false});
}

}  // namespace

void add_calibrate_serving(CLI::App& calibrate, Action& action) {
  CLI::App* sub = calibrate.add_subcommand(
      "serving", "Scale forecasts of an inference deployment by measured points of it");
  const auto command = std::make_shared<CalibrateServing>();
  sub->add_option(
         "POINTS", command->points,
         "A table: engine, model, chip, precision, tp, input, output, users, ttft_ms, tpot_ms")
      ->required()
      ->type_name("FILE.csv");
  as_output(sub->add_option("-o,--out", command->out, "Write the factors, for --point of serve")
                ->type_name("FILE.toml"));
  sub->add_flag("--json", command->json, "Print JSON (docs/reference/serving.md)");
  set_example(*sub, "flopcast calibrate serving examples/serving_points.csv -o demo/serving.toml");
  sub->callback([command, &action] {
    action = [command](Io& io) { return run_calibrate_serving(io, *command); };
  });
}

}  // namespace flopcast::cli
