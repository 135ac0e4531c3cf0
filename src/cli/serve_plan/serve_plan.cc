// flopcast serve-plan: the fewest chips that serve a load under limits, or every fleet on the front.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>

#include "base/files/read_file.h"
#include "base/layout/fit.h"
#include "cli/terminal/command.h"
#include "cli/terminal/line_file.h"
#include "cli/terminal/options.h"
#include "cli/terminal/outputs.h"
#include "cli/terminal/progress.h"
#include "flopcast/report/serve_plan.h"

namespace flopcast::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kEffortColumns = 80;

struct ServePlanCommand {
  std::string model, shard;
  std::vector<std::string> clusters, fits;
  ServeSettings settings;
  unsigned threads = 0;
  FormatOptions format;
  fs::path out, html;
  std::vector<fs::path> merge;
};

std::string plan_setting_flag(std::string_view name) {
  std::string flag = "--" + std::string(name);
  std::ranges::replace(flag, '_', '-');
  return flag;
}

/// Diagnostics of the library name settings; on the command line they are flags.
Diagnostic as_serve_plan_flag(Diagnostic error) {
  for (const auto settings : {serve_plan_settings(), serve_settings()}) {
    for (const ServeSetting& setting : settings) {
      if (error.where == setting.name) error.where = plan_setting_flag(setting.name);
    }
  }
  return error;
}

void add_plan_setting(CLI::App& sub, const ServeSetting& setting, ServeSettings& given) {
  const std::string name(setting.name), flag = plan_setting_flag(name);
  const std::string meaning(setting.meaning);
  if (setting.takes.empty()) {
    sub.add_flag_callback(
        flag, [&given, name] { given.emplace_back(name, "true"); }, meaning);
    return;
  }
  sub.add_option_function<std::string>(
         flag, [&given, name](const std::string& value) { given.emplace_back(name, value); },
         meaning)
      ->type_name(std::string(setting.takes));
}

/// The file's report of this question and shard, if it holds one.
Result<std::optional<ServePlanReport>> known_report(LineFile& file,
                                                    const ServePlanReport& question) {
  Result<std::vector<ServePlanReport>> held =
      read_serve_plan_reports(file.held(), file.path().string());
  if (!held) return held.error();
  if (auto problem = file.cut_torn_line()) return *std::move(problem);
  const std::string key = question_key(question);
  for (ServePlanReport& one : *held) {
    const bool same = one.shard == question.shard && one.shards == question.shards;
    if (same && question_key(one) == key) return std::optional(std::move(one));
  }
  return std::optional<ServePlanReport>();
}

Result<ServePlanReport> search_now(Io& io, const ServePlanQuestion& question, ServePlanRun run) {
  const auto start = std::chrono::steady_clock::now();
  std::optional<Progress> progress(std::in_place, io, Progress::Of::kPlans);
  run.progress = [&progress](const FleetSearchCounts& counts) {
    progress->tell([&counts] { return serve_plan_progress(counts); });
    return true;
  };
  Result<ServePlanReport> report = answer_serve_plan(question, Catalog::builtin(), run);
  progress.reset();  // its line makes room
  if (!report) return report;
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  io.err << fit_text(fmt::format("Searched in {:.2f} s: {}\n", seconds,
                                 serve_plan_effort(report->answer.counts)),
                     kEffortColumns)
         << std::flush;
  return report;
}

Result<ServePlanReport> searched(Io& io, const ServePlanCommand& command,
                                 const ServePlanQuestion& question, const ServePlanRun& run) {
  if (command.out.empty()) return search_now(io, question, run);
  Result<LineFile> file = LineFile::open(command.out, R"({"asked": {"model": ")");
  if (!file) return file.error();
  ServePlanReport asked = asked_serve_plan(question);
  asked.shard = run.shard;
  asked.shards = run.shards;
  Result<std::optional<ServePlanReport>> known = known_report(*file, asked);
  if (!known) return known.error();
  if (*known) return std::move(**known);
  Result<ServePlanReport> report = search_now(io, question, run);
  if (!report) return report;
  if (auto problem = file->append(serve_plan_json_line(*report))) return *std::move(problem);
  return report;
}

int show_serve_plans(Io& io, const ServePlanCommand& command,
                     const ServePlanComparison& comparison) {
  const FormatOptions& format = command.format;
  const bool one = comparison.reports.size() == 1;
  const ServePlanReport& winner = comparison.winner();
  if (!command.html.empty()) {
    const int code =
        write_page(io, command.html, one ? serve_plan_html(winner) : serve_plans_html(comparison));
    if (code != kDone) return code;
  }
  const int code = format.json
                       ? print(io, one ? serve_plan_json(winner) : serve_plans_json(comparison))
                   : format.csv ? print(io, serve_plans_csv(comparison.reports))
                                : print(io, serve_plans_text(comparison), format);
  if (code != kDone || comparison.found()) return code;
  return fail(io, serve_plan_refusal(winner));
}

int merge_serve_plan_files(Io& io, const ServePlanCommand& command) {
  std::vector<ServePlanReport> shards;
  for (const fs::path& path : command.merge) {
    const Result<std::string> text =
        read_file(path, "name files that flopcast serve-plan --shard wrote");
    if (!text) return fail(io, text.error());
    Result<std::vector<ServePlanReport>> reports = read_serve_plan_reports(*text, path.string());
    if (!reports) return fail(io, reports.error());
    std::move(reports->begin(), reports->end(), std::back_inserter(shards));
  }
  const Result<ServePlanComparison> whole = merge_and_compare_serve_plans(shards);
  if (!whole) {
    // Whichever of them it is that does not belong to the others.
    Diagnostic error = whole.error();
    error.where.clear();
    for (const fs::path& path : command.merge) {
      error.where += (error.where.empty() ? "" : ", ") + path.string();
    }
    return fail(io, error);
  }
  return show_serve_plans(io, command, *whole);
}

int run_serve_plan(Io& io, const ServePlanCommand& command) {
  if (!command.merge.empty()) return merge_serve_plan_files(io, command);
  if (command.model.empty()) {
    return fail(io, usage_error("MODEL", "is missing", "such as meta-llama-3-70b"));
  }
  if (command.clusters.empty()) {
    return fail(io, usage_error("--on", "is missing", "name a cluster, such as \"4 x dgx-h100\""));
  }
  std::vector<std::string> clusters = command.clusters;
  for (std::string& cluster : clusters) {
    if (const auto problem = take_fits(cluster, command.fits)) return fail(io, *problem);
  }
  const Result<std::vector<ServePlanQuestion>> questions =
      make_serve_plan_questions(command.model, clusters, command.settings, Catalog::builtin());
  if (!questions) return fail(io, as_serve_plan_flag(questions.error()));
  ServePlanRun run{command.threads, 0, 1, {}};
  if (!command.shard.empty()) {
    const auto shard = parse_shard(command.shard);
    if (!shard) return fail(io, shard.error());
    std::tie(run.shard, run.shards) = *shard;
  }
  std::vector<ServePlanReport> reports;
  for (const ServePlanQuestion& question : *questions) {
    Result<ServePlanReport> report = searched(io, command, question, run);
    if (!report) return fail(io, as_serve_plan_flag(report.error()));
    reports.push_back(std::move(*report));
  }
  if (command.shard.empty()) {
    return show_serve_plans(io, command, compare_serve_plans(std::move(reports)));
  }
  // A shard that finds nothing is no failure: the others may.
  if (!command.out.empty()) return kDone;
  std::string lines;
  for (const ServePlanReport& report : reports) lines += serve_plan_json_line(report);
  return print(io, lines);
}

void add_plan_settings(CLI::App& sub, ServePlanCommand& command) {
  for (const ServeSetting& setting : serve_plan_settings()) {
    add_plan_setting(sub, setting, command.settings);
  }
  for (const ServeSetting& setting : serve_settings()) {
    if (setting.topic == ServeTopic::kLoad) add_plan_setting(sub, setting, command.settings);
  }
}

}  // namespace

void add_serve_plan(CLI::App& app, Action& action) {
  CLI::App* sub = app.add_subcommand(
      "serve-plan", "The fewest chips that serve a load under limits on its percentiles");
  const auto command = std::make_shared<ServePlanCommand>();
  sub->add_option("MODEL", command->model,
                  "A built-in model, or a Hugging Face config.json or the folder that holds one")
      ->type_name("");
  sub->add_option("--on", command->clusters,
                  "The cluster whose chips may be used; again for others, which are compared")
      ->type_name("CLUSTER")
      ->allow_extra_args(false);
  add_fits(*sub, command->fits);
  add_plan_settings(*sub, *command);
  sub->add_option("--threads", command->threads, "Threads to search with; 0 means every core")
      ->type_name("N")
      ->capture_default_str();
  sub->add_option("--shard", command->shard,
                  "Search part I (from 0) of N only and write it as a JSON line for --merge")
      ->type_name("I/N");
  as_output(sub->add_option("--out", command->out,
                            "Add results to this file, a JSON line each; what it holds is not "
                            "searched again")
                ->type_name("FILE.jsonl"));
  sub->add_option("--merge", command->merge,
                  "Put the shards in these files together instead of searching")
      ->type_name("FILE.jsonl");
  add_format(*sub, command->format, true);
  add_page(*sub, command->html);
  set_example(
      *sub,
      "flopcast serve-plan llama-3-8b --on \"dgx-h100\" --engine vllm --precision bf16 "
      "--rate 4 --input 1024 --output 128 --requests 200 --slo \"ttft.p99<1s,tpot.p99<50ms\"");
  sub->callback(
      [command, &action] { action = [command](Io& io) { return run_serve_plan(io, *command); }; });
}

}  // namespace flopcast::cli
