// flopcast trace slice: cuts traces by rank, step or time.
#include <fmt/format.h>

#include <memory>

#include "cli/terminal/command.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/options.h"
#include "cli/trace/runs.h"
#include "flopcast/trace/io.h"

namespace flopcast::cli {
namespace {

namespace fs = std::filesystem;

struct SliceCommand {
  InputOptions input;
  Slice slice;
  std::string step;
  double from_s = 0, to_s = 0;
  fs::path out;
};

int run_slice(Io& io, SliceCommand& command) {
  std::error_code error;
  fs::create_directories(command.out, error);
  if (error) {
    return fail(io, {ErrorCode::kBadInput, command.out.string(),
                     "the folder cannot be made: " + error.message(), "name another with --out"});
  }
  clean_on_interrupt(command.out);
  std::string list;
  const int code = for_each_run(io, command.input, [&](const TraceSet& set) {
    const Result<std::vector<fs::path>> files = slice_traces(set, command.slice, command.out);
    if (!files) return fail(io, files.error());
    for (const fs::path& file : *files) list += file.string() + '\n';
    return kDone;
  });
  const int printed = print(io, list);
  return code != kDone ? code : printed;
}

}  // namespace

void add_trace_slice(CLI::App& trace, Action& action) {
  CLI::App* sub = trace.add_subcommand(
      "slice", "Cut traces by rank, step or time; rows are kept whole, byte for byte");
  const auto command = std::make_shared<SliceCommand>();
  add_input(*sub, command->input);
  sub->add_option("--rank", command->slice.ranks, "Only these ranks; may be given again")
      ->type_name("RANK")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
  CLI::Option* step =
      sub->add_option("--step", command->step, "Only this step, such as 12 or ProfilerStep#12")
          ->type_name("STEP");
  CLI::Option* from = sub->add_option("--from-s", command->from_s,
                                      "Only what ends after this, seconds since the first row")
                          ->type_name("SECONDS")
                          ->excludes(step);
  CLI::Option* to = sub->add_option("--to-s", command->to_s, "Only what starts before this")
                        ->type_name("SECONDS")
                        ->excludes(step);
  sub->add_option("--out", command->out, "Folder to write to; made if it is not there")
      ->required()
      ->type_name("DIR");
  set_example(*sub, "flopcast trace slice demo/sample --rank 0 --step 2 --out demo/slice");
  sub->callback([=, &action] {
    if (step->count() > 0) command->slice.step = command->step;
    if (from->count() > 0) command->slice.from_s = command->from_s;
    if (to->count() > 0) command->slice.to_s = command->to_s;
    action = [command](Io& io) { return run_slice(io, *command); };
  });
}

}  // namespace flopcast::cli
