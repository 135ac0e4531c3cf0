// flopcast trace pack: trace files as one small file.
#include <fmt/format.h>

#include <memory>

#include "base/text/format.h"
#include "cli/terminal/command.h"
#include "cli/terminal/options.h"
#include "cli/terminal/outputs.h"
#include "cli/terminal/progress.h"
#include "cli/trace/runs.h"
#include "flopcast/trace/io.h"

namespace flopcast::cli {
namespace {

namespace fs = std::filesystem;

struct PackCommand {
  InputOptions input;
  fs::path out;
};

std::string report_text(const PackReport& report, const fs::path& out) {
  const double ratio = static_cast<double>(report.text_bytes) / static_cast<double>(report.bytes);
  return fmt::format("{}: {}, {} rows: {} of JSON in {}, {:.1f} times smaller\n", out.string(),
                     counted(report.files, "trace"), grouped(report.rows),
                     short_bytes(static_cast<std::int64_t>(report.text_bytes)),
                     short_bytes(static_cast<std::int64_t>(report.bytes)), ratio);
}

int run_pack(Io& io, const PackCommand& command) {
  const Result<std::vector<Run>> runs = runs_of(command.input);
  if (!runs) return fail(io, runs.error());
  if (runs->size() > 1) return fail(io, several_runs(command.input, *runs, "a pack holds one"));
  Progress progress(io);
  PackOptions options;
  options.threads = command.input.threads;
  options.label = runs->front().name;
  options.progress = progress.callback();
  const Result<PackReport> report = pack_traces(runs->front().paths, command.out, options);
  if (!report) return fail(io, report.error());
  for (const Diagnostic& bad : report->unreadable) warn(io, bad.text());
  const int printed = print(io, report_text(*report, command.out), {});
  return report->unreadable.empty() ? printed : static_cast<int>(ErrorCode::kBadInput);
}

}  // namespace

void add_trace_pack(CLI::App& trace, Action& action) {
  CLI::App* sub = trace.add_subcommand(
      "pack", "Write a run as one small file, which every command reads in place of its traces");
  const auto command = std::make_shared<PackCommand>();
  add_input(*sub, command->input);
  as_output(sub->add_option("-o,--out", command->out, "File to write, such as run.fcpack")
                ->required()
                ->type_name("FILE"));
  set_example(*sub, "flopcast trace pack demo/sample --out demo/sample.fcpack");
  sub->callback(
      [command, &action] { action = [command](Io& io) { return run_pack(io, *command); }; });
}

}  // namespace flopcast::cli
