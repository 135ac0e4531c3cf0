// flopcast resolve: a run that was captured, timed again on other clusters.
#include <fmt/format.h>

#include <memory>

#include "cli/run/files.h"
#include "cli/run/resolve.h"
#include "cli/terminal/command.h"
#include "cli/terminal/options.h"
#include "flopcast/live.h"

namespace flopcast::cli {
namespace {

struct ResolveCommand {
  std::filesystem::path capture;
  std::vector<std::string> clusters;
  std::vector<std::string> fits;
  std::filesystem::path operators;
  LiveFiles files;
};

int resolve_one(Io& io, const ResolveCommand& command) {
  const std::string cluster = command.clusters.empty() ? std::string() : command.clusters.front();
  const Result<LiveReport> report =
      resolve_live({command.capture, cluster, command.operators, command.files.want_timeline()},
                   Catalog::builtin());
  if (!report) return fail(io, report.error());
  if (const int code = print(io, live_text(*report), {}); code != kDone) return code;
  return write_live_files(io, command.files, *report);
}

int resolve_each(Io& io, const ResolveCommand& command) {
  if (command.files.want_timeline()) {
    return fail(io, usage_error("--html, --trace-out, --recording",
                                "are of one run, and --on names several clusters",
                                "name one cluster with --on"));
  }
  const Result<std::vector<ResolvedRow>> rows =
      resolved_rows(command.capture, command.clusters, command.operators);
  if (!rows) return fail(io, rows.error());
  if (const int code = print(io, resolved_text(*rows), {}); code != kDone) return code;
  if (command.files.json.empty()) return kDone;
  return write_told(io, "results", command.files.json, resolved_json(*rows));
}

int run_resolve(Io& io, ResolveCommand command) {
  if (auto problem = command.files.problem()) return fail(io, *problem);
  if (command.clusters.empty() && !command.fits.empty()) {
    return fail(io, usage_error("--fit", "is of a cluster, and --on names none",
                                "name the cluster with --on"));
  }
  for (std::string& cluster : command.clusters) {
    if (auto problem = take_fits(cluster, command.fits)) return fail(io, *problem);
  }
  return command.clusters.size() > 1 ? resolve_each(io, command) : resolve_one(io, command);
}

}  // namespace

Result<std::vector<ResolvedRow>> resolved_rows(const std::filesystem::path& capture,
                                               const std::vector<std::string>& clusters,
                                               const std::filesystem::path& operators) {
  std::vector<ResolvedRow> rows;
  for (const std::string& cluster : clusters) {
    const Result<LiveReport> report =
        resolve_live({capture, cluster, operators}, Catalog::builtin());
    ResolvedRow& row = rows.emplace_back();
    row.cluster = cluster;
    if (report) {
      row.report = *report;
      continue;
    }
    const bool of_cluster =
        report.error().code == ErrorCode::kTooLarge || report.error().code == ErrorCode::kNoAnswer;
    if (!of_cluster) return report.error();
    row.problem = report.error();
  }
  return rows;
}

void add_resolve(CLI::App& app, Action& action) {
  CLI::App* sub = app.add_subcommand(
      "resolve",
      "Time a run again, on another cluster and without its program: one of `flopcast run "
      "--capture`");
  const auto command = std::make_shared<ResolveCommand>();
  sub->add_option("capture", command->capture, "File of the run")->required()->type_name("FILE");
  sub->add_option("--on", command->clusters,
                  "The cluster; several, for a row each; that of the run if left out")
      ->type_name("CLUSTER")
      ->allow_extra_args(false);
  add_fits(*sub, command->fits);
  sub->add_option("--operators", command->operators,
                  "What operators of your own do, of a run that had any: as of `flopcast run`")
      ->type_name("FILE.toml");
  add_live_files(*sub, command->files);
  set_example(*sub, "flopcast resolve run.fccap --on \"2 x dgx-h200\"");
  sub->callback(
      [command, &action] { action = [command](Io& io) { return run_resolve(io, *command); }; });
}

}  // namespace flopcast::cli
