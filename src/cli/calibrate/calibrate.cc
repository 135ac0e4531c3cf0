// flopcast calibrate: fits of a user's own measurements.
#include "cli/terminal/command.h"

namespace flopcast::cli {

void add_calibrate(CLI::App& app, Action& action) {
  CLI::App* calibrate =
      app.add_subcommand("calibrate", "Fit the models to measurements of your own machine");
  calibrate->require_subcommand(1);
  set_example(*calibrate, "flopcast calibrate network examples/collectives.csv");
  add_calibrate_network(*calibrate, action);
  add_calibrate_kernels(*calibrate, action);
  add_calibrate_host(*calibrate, action);
  add_calibrate_serving(*calibrate, action);
}

}  // namespace flopcast::cli
