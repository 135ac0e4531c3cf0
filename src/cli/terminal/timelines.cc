#include "cli/terminal/timelines.h"

#include <fmt/format.h>

#include "cli/terminal/outputs.h"
#include "flopcast/trace/io.h"

namespace flopcast::cli {

namespace fs = std::filesystem;

void add_trace_out(CLI::App& command, const std::string& what, std::vector<fs::path>& files) {
  const std::string help = fmt::format(
      "Write {}; may be given again. Kineto JSON if the name ends in .json or .json.gz, Perfetto "
      "protobuf otherwise",
      what);
  as_output(command.add_option("--trace-out", files, help)
                ->type_name("FILE")
                ->expected(1)
                ->take_all()
                ->allow_extra_args(false));
}

int write_timelines(Io& io, const std::vector<fs::path>& files, const TraceSet& set) {
  for (const fs::path& path : files) {
    const std::string name = path.filename().string();
    const bool kineto = name.ends_with(".json") || name.ends_with(".json.gz");
    const Result<std::uint64_t> bytes =
        kineto ? write_kineto(set, path) : write_perfetto(set, path);
    if (!bytes) return fail(io, bytes.error());
    report_file(io, "timeline", path, *bytes);
  }
  return kDone;
}

}  // namespace flopcast::cli
