// flopcast estimate: how long one training step of a plan takes, where the time goes, what it keeps
// in memory, and what would make it fit.
#include <fmt/format.h>

#include <memory>

#include "cli/plan/plan_options.h"
#include "cli/plan/run_options.h"
#include "cli/published/options.h"
#include "cli/terminal/command.h"
#include "cli/terminal/options.h"
#include "cli/terminal/outputs.h"
#include "cli/terminal/timelines.h"
#include "flopcast/hardware/capability.h"
#include "flopcast/report/estimate.h"

namespace flopcast::cli {
namespace {

namespace fs = std::filesystem;

struct EstimateCommand {
  TrainingFlags training;
  PlanFlags plan;
  RunSettings run;
  std::string print_as, engine = "closed";
  FormatOptions format;
  fs::path html;
  std::vector<fs::path> trace_out;
  PaperOptions paper;
};

/// The plan as flags of a launcher, and on stderr what the launcher cannot run of it.
int print_plan(Io& io, const EstimateCommand& command, const Plan& plan,
               const TrainingModel& training) {
  const Result<PlanFormat> format = plan_format("--print-as", command.print_as);
  if (!format) return fail(io, format.error());
  const Model& model = training.model();
  const LaunchContext context =
      launch_context(*format, &model, training.options().software,
                     compute_capability(training.cluster().chip).value_or(0));
  const bool stages = *format == PlanFormat::kMegatron;
  const PlanText text =
      write_plan(stages ? with_stages(plan, model.layers()) : plan, *format, context);
  for (const std::string& lost : text.lost) {
    warn(io, fmt::format("{} cannot run {}", name(*format), lost));
  }
  for (const PlanElsewhere& other : text.elsewhere) {
    warn(io, fmt::format("{} is told elsewhere: {} {}, by {}", name(*format), other.name,
                         other.value, other.where));
  }
  return print(io, text.text.ends_with('\n') ? text.text : text.text + '\n');
}

std::optional<Diagnostic> check_engine(const EstimateCommand& command) {
  if (command.engine == "closed" || command.engine == "graph") return std::nullopt;
  return usage_error("--engine",
                     fmt::format("expected closed or graph, found '{}'", command.engine),
                     "--help has every choice");
}

/// Runs the step as a graph where its answer or its timeline is asked for.
int run_graph(Io& io, const EstimateCommand& command, const TrainingModel& model,
              EstimateReport& report) {
  if (command.engine != "graph" && command.trace_out.empty()) return kDone;
  const Result<StepWork> work = step_work(model, report.plan);
  if (!work) return fail(io, work.error());
  const Result<StepRun> run = run_step(*work);
  if (!run) return fail(io, run.error());
  if (command.engine == "graph") report.graph = graph_answer(*run);
  if (command.trace_out.empty()) return kDone;
  return write_timelines(io, command.trace_out, step_trace(*run));
}

int run_full(Io& io, const EstimateCommand& given) {
  EstimateCommand command = given;
  if (const auto problem = take_fits(command.training)) return fail(io, *problem);
  if (const auto wrong = check_engine(command)) return fail(io, *wrong);
  const auto asked = run_of_flags(command.run);
  if (!asked) return fail(io, asked.error());
  Result<std::optional<PlanFile>> file = launch_file(command.plan, command.training.cluster());
  if (!file) return fail(io, file.error());
  const Result<TrainingModel> model = open_training(command.training, *file);
  if (!model) return fail(io, model.error());
  const Result<NamedPlan> named = plan_of(command.plan, *file, model->cluster().chips());
  if (!named) return fail(io, named.error());
  Result<EstimateReport> report = make_estimate_report(*model, named->plan, named->assumed);
  if (!report) return fail(io, report.error());
  report->used = named->used;
  report->ignored = named->ignored;
  report->unmodelled = named->unmodelled;
  report->unknown = named->unknown;
  if (!command.print_as.empty()) {
    return print_plan(io, command, report->plan, *model);
  }
  if (*asked) {
    if (const auto wrong = add_whole_run(*model, **asked, *report)) return fail(io, *wrong);
  }
  if (const int code = run_graph(io, command, *model, *report); code != kDone) return code;
  if (!command.html.empty()) {
    const int code = write_page(io, command.html, estimate_html(*report));
    if (code != kDone) return code;
  }
  const std::string text = command.format.json  ? estimate_json(*report)
                           : command.format.csv ? estimate_csv({&*report, 1})
                                                : estimate_text(*report);
  if (const int code = print(io, text, command.format); code != kDone) return code;
  const std::optional<Diagnostic> problem = memory_problem(*report);
  return problem ? fail(io, *problem) : kDone;
}

int run_paper(Io& io, const EstimateCommand& command) {
  const Result<std::optional<PlanFile>> file = launch_file(command.plan, {});
  if (!file) return fail(io, file.error());
  const Result<NamedPlan> named = base_plan(command.plan, *file);
  if (!named) return fail(io, named.error());
  const Plan& plan = named->plan;
  PaperEstimateCommand paper;
  paper.model = command.training.model;
  paper.size = {plan.tp, plan.tp2, plan.pp, plan.dp};
  paper.microbatch = plan.micro_batch;
  paper.panels = command.plan.given.contains("panels") ? plan.panels : 0;
  paper.global_batch = plan.global_batch;
  paper.format = command.format;
  paper.paper = command.paper;
  return run_paper_estimate(io, paper);
}

int run_estimate(Io& io, const CLI::App& parsed, const EstimateCommand& command) {
  const Result<bool> paper = paper_mode(parsed, command.paper);
  if (!paper) return fail(io, paper.error());
  return *paper ? run_paper(io, command) : run_full(io, command);
}

}  // namespace

void add_estimate(CLI::App& app, Action& action) {
  CLI::App* sub = app.add_subcommand(
      "estimate", "How long a training step of one plan takes, why, and whether it fits");
  const auto command = std::make_shared<EstimateCommand>();
  add_training(*sub, command->training);
  add_run(*sub, command->run);
  add_batch(*sub, command->plan);
  add_degrees(*sub, command->plan);
  add_choices(*sub, command->plan);
  sub->add_option("--print-as", command->print_as,
                  "Print the plan instead, as megatron flags, torchtitan TOML or deepspeed JSON")
      ->type_name("FORMAT");
  add_format(*sub, command->format, false);
  sub->add_flag("--csv", command->format.csv, "Print a line of titles and one of values")
      ->excludes(sub->get_option("--json"));
  add_page(*sub, command->html);
  sub->add_option("--engine", command->engine,
                  "closed: the closed form; graph: run as an execution graph too, task by task")
      ->type_name("closed|graph")
      ->capture_default_str();
  add_trace_out(*sub, "the step as a timeline", command->trace_out);
  add_paper_options(*sub, command->paper);
  set_example(*sub,
              "flopcast estimate meta-llama-3-70b --on \"128 x dgx-h100\" --tp 8 --pp 4 "
              "--global-batch 1024 --seq 8192");
  sub->callback([command, sub, &action] {
    action = [command, sub](Io& io) { return run_estimate(io, *sub, *command); };
  });
}

}  // namespace flopcast::cli
