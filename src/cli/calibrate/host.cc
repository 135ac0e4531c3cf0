// flopcast calibrate host: what calls and operators take the host, from recordings of PyTorch's profiler.
#include <fmt/format.h>

#include <memory>

#include "cli/terminal/command.h"
#include "cli/terminal/outputs.h"
#include "cli/trace/runs.h"
#include "flopcast/live/host.h"
#include "flopcast/report/host.h"

namespace flopcast::cli {
namespace {

struct CalibrateHost {
  std::vector<std::filesystem::path> traces;
  std::filesystem::path out;
  std::string source;
  bool json = false;
};

Result<HostRecording> read_recording(Io& io, const std::filesystem::path& path) {
  const Result<std::vector<Run>> runs = runs_of(path, "");
  if (!runs) return runs.error();
  const std::filesystem::path name = path.has_filename() ? path : path.parent_path();
  HostRecording recording{name.filename().string(), {}};
  for (const Run& run : *runs) {
    ReadOptions options;
    options.keep_python = true;
    Result<TraceSet> set = read_run(io, run, options);
    if (!set) return set.error();
    recording.runs.push_back(std::move(*set));
  }
  return recording;
}

int run_calibrate_host(Io& io, const CalibrateHost& command) {
  std::vector<HostRecording> recordings;
  for (const std::filesystem::path& path : command.traces) {
    Result<HostRecording> recording = read_recording(io, path);
    if (!recording) return fail(io, recording.error());
    recordings.push_back(std::move(*recording));
  }
  const Result<HostFit> fit = fit_host(recordings);
  if (!fit) return fail(io, fit.error());
  if (!command.out.empty()) {
    const std::string text = fit->table.toml(command.source);
    if (const int code = write_told(io, "table", command.out, text); code != kDone) return code;
  }
  return print(io, command.json ? host_fit_json(*fit) : host_fit_text(*fit), {command.json, false});
}

}  // namespace

void add_calibrate_host(CLI::App& calibrate, Action& action) {
  CLI::App* sub = calibrate.add_subcommand(
      "host", "Fit what calls and operators take the host to recordings of scripts");
  const auto command = std::make_shared<CalibrateHost>();
  sub->add_option("TRACE", command->traces,
                  "Recordings of PyTorch's profiler: files, or folders whose runs are of one "
                  "machine. Errors are those of a fit to all other recordings")
      ->required()
      ->type_name("");
  as_output(sub->add_option("-o,--out", command->out, "Write the table here")->type_name("FILE"));
  sub->add_option("--source", command->source, "What was recorded; the table says it")
      ->type_name("TEXT");
  sub->add_flag("--json", command->json, "Print JSON (docs/reference/json.md)");
  set_example(*sub, "flopcast calibrate host demo/sample");
  sub->callback([command, &action] {
    action = [command](Io& io) { return run_calibrate_host(io, *command); };
  });
}

}  // namespace flopcast::cli
