// flopcast plan: the best of all plans, over one machine or a sweep of them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>

#include "base/counts.h"
#include "base/text/numbers.h"
#include "cli/plan/plan_options.h"
#include "cli/plan/plan_points.h"
#include "cli/plan/run_options.h"
#include "cli/published/options.h"
#include "cli/terminal/command.h"
#include "cli/terminal/outputs.h"
#include "flopcast/question/launch.h"

namespace flopcast::cli {
namespace {

/// Degrees that --max-NAME bounds, and their names in constraints.
constexpr std::array<std::pair<const char*, const char*>, 8> kBounded = {{
    {"tp", "tp"},
    {"pp", "pp"},
    {"cp", "cp"},
    {"dp", "dp"},
    {"ep", "ep"},
    {"etp", "etp"},
    {"vpp", "vpp"},
    {"micro-batch", "micro_batch"},
}};
struct PlanCommand {
  TrainingFlags training;
  PlanFlags plan;
  RunSettings run;
  std::vector<std::string> must, sweeps;
  std::vector<std::pair<std::string, std::int64_t>> bounds;  ///< names in constraints, at most
  std::string chips, shard, launchable;
  std::size_t best = 10;
  bool no_placements = false;
  unsigned threads = 0;
  PlanOutput output;
  std::filesystem::path out;
  PaperOptions paper;
  std::string figure;
};

std::optional<Diagnostic> read_shard(const std::string& text, PlanPoints& points) {
  if (text.empty()) return std::nullopt;
  const auto shard = parse_shard(text);
  if (!shard) return shard.error();
  points.sharded = true;
  std::tie(points.shard, points.shards) = *shard;
  return std::nullopt;
}

/// --chips 64 is a number of chips, --chips 64,128 or 64..512 a sweep.
std::optional<Diagnostic> read_chips(const PlanCommand& command, PlanQuestion& question,
                                     std::vector<std::string>& sweeps) {
  if (command.chips.empty()) return std::nullopt;
  const std::string sweep = "n=" + command.chips;
  const Result<std::vector<PlanChange>> values = parse_plan_sweep(sweep);
  if (!values) {
    return usage_error("--chips", values.error().what, "write it like 512, 64,128,256 or 64..1024");
  }
  if (values->size() > 1) {
    sweeps.insert(sweeps.begin(), sweep);
  } else {
    question.chips = parse_whole<unsigned>(values->front().value).value_or(0);
  }
  return std::nullopt;
}

/// --must and --max-NAME.
std::optional<Diagnostic> read_constraints(const PlanCommand& command,
                                           std::vector<PlanConstraint>& constraints) {
  for (const std::string& text : command.must) {
    Result<PlanConstraint> constraint = parse_plan_constraint(text);
    if (!constraint) return constraint.error();
    constraints.push_back(std::move(*constraint));
  }
  for (const auto& [name, most] : command.bounds) {
    Result<PlanConstraint> constraint = plan_constraint(name, "<=", std::to_string(most));
    if (!constraint) return constraint.error();
    constraints.push_back(std::move(*constraint));
  }
  return std::nullopt;
}

Result<PlanQuestion> question_of(const PlanCommand& command) {
  PlanQuestion question;
  question.model = command.training.model;
  question.cluster = command.training.cluster();
  question.placements = !command.no_placements;
  question.best = command.best;
  Result<TrainingOptions> training = training_options(command.training);
  if (!training) return training.error();
  question.training = std::move(*training);
  const auto run = run_of_flags(command.run);
  if (!run) return run.error();
  question.run = *run;
  if (auto problem = read_constraints(command, question.constraints)) return *std::move(problem);
  if (!command.launchable.empty()) {
    const Result<PlanFormat> format = plan_format("--launchable", command.launchable);
    if (!format) return format.error();
    question.launchable = *format;
  }
  Result<std::optional<PlanFile>> from = launch_file(command.plan, question.cluster);
  if (!from) return from.error();
  if (!*from) return with_settings(std::move(question), command.plan.given);
  Result<Model> model = model_of(question.model, &**from);
  if (!model) return model.error();
  compare_model(**from, *model);
  take_software(**from, question.training);
  if (question.model.empty()) question.own_model = std::move(*model);
  return with_settings(std::move(question), command.plan.given, &**from);
}

/// The sweep on every cluster, each with its price.
Result<std::vector<PlanQuestion>> points_of(const PlanCommand& command, PlanQuestion question,
                                            const std::vector<std::string>& sweeps) {
  const std::vector<std::string>& clusters = command.training.clusters;
  std::vector<PlanQuestion> points;
  for (std::size_t i = 0; i < clusters.size(); ++i) {
    if (std::count(clusters.begin(), clusters.end(), clusters[i]) > 1) {
      return usage_error("--on", fmt::format("{} is named twice", clusters[i]), "name it once");
    }
    const Result<double> price = price_on(command.training, i);
    if (!price) return price.error();
    question.cluster = clusters[i];
    question.training.usd_per_chip_hour = *price;
    if (question.run) question.run->usd_per_chip_hour = *price;
    Result<std::vector<PlanQuestion>> own = sweep_points(question, sweeps);
    if (!own) return own.error();
    std::move(own->begin(), own->end(), std::back_inserter(points));
  }
  return points;
}

int run_full(Io& io, const PlanCommand& given) {
  PlanCommand command = given;
  if (const auto problem = take_fits(command.training)) return fail(io, *problem);
  if (command.training.model.empty() && command.plan.from.empty()) {
    return fail(
        io, usage_error("MODEL", "is missing", "name it first: flopcast plan llama-3-8b --on ..."));
  }
  if (command.training.clusters.empty()) {
    return fail(io,
                usage_error("--on", "is missing", "name the cluster, such as \"64 x dgx-h100\""));
  }
  Result<PlanQuestion> question = question_of(command);
  if (!question) return fail(io, question.error());
  PlanPoints points;
  std::vector<std::string> sweeps = command.sweeps;
  if (const auto problem = read_chips(command, *question, sweeps)) return fail(io, *problem);
  if (const auto problem = read_shard(command.shard, points)) return fail(io, *problem);
  Result<std::vector<PlanQuestion>> asked = points_of(command, *question, sweeps);
  if (!asked) return fail(io, asked.error());
  points.points = std::move(*asked);
  points.sweep = !sweeps.empty() || command.training.clusters.size() > 1;
  points.threads = command.threads;
  points.out = command.out;
  points.output = command.output;
  return run_points(io, points);
}

int run_paper(Io& io, const PlanCommand& command) {
  PaperPlanCommand paper;
  paper.model = command.training.model;
  paper.sweeps = command.sweeps;
  if (const auto chips = parse_whole(command.chips)) {
    paper.chips = *chips;
  } else if (!command.chips.empty()) {
    paper.sweeps.push_back("chips=" + command.chips);
  }
  paper.best = command.best;
  paper.must = command.must;
  for (const auto& [name, value] : command.plan.given) {
    if (name == "global_batch") {
      const Result<BatchSize> batch = parse_batch(value);
      if (!batch) return fail(io, batch.error());
      if (batch->sequences == 0) {
        return fail(io, usage_error("--global-batch",
                                    fmt::format("the paper counts sequences, found '{}'", value),
                                    "give the sequences of one step"));
      }
      paper.global_batch = batch->sequences;
    } else {
      paper.must.push_back(
          fmt::format("{}={}", name == "micro_batch" ? "microbatch" : name, value));
    }
  }
  paper.threads = command.threads;
  paper.format = command.output.format;
  paper.paper = command.paper;
  paper.figure = command.figure;
  return run_paper_plan(io, paper);
}

int run_plan(Io& io, const CLI::App& parsed, const PlanCommand& command) {
  const Result<bool> paper = paper_mode(parsed, command.paper);
  if (!paper) return fail(io, paper.error());
  return *paper ? run_paper(io, command) : run_full(io, command);
}

/// Every use of the flag adds one text; the arguments behind it stay what they are.
void add_texts(CLI::App& sub, const std::string& flag, std::vector<std::string>& texts,
               const std::string& help, const std::string& type) {
  sub.add_option(flag, texts, help)->type_name(type)->allow_extra_args(false);
}

void add_constraints(CLI::App& sub, PlanCommand& command) {
  add_texts(sub, "--must,--constraint", command.must,
            "What plans must keep to: pp=4, \"tp<=8\", \"dp>=2\", recompute=none,full; may be "
            "given again",
            "NAME=VALUE");
  for (const auto& [flag, name] : kBounded) {
    const std::string constraint = name;
    sub.add_option_function<std::int64_t>(
           fmt::format("--max-{}", flag),
           [&command, constraint](std::int64_t most) {
             command.bounds.emplace_back(constraint, most);
           },
           fmt::format("The most that {} may be", flag))
        ->type_name("N");
  }
  sub.add_option("--launchable", command.launchable,
                 "Only plans that this launcher can run: megatron, torchtitan or deepspeed")
      ->type_name("LAUNCHER");
  sub.add_flag("--no-placements", command.no_placements,
               "Only the usual placement of each plan (tp innermost) instead of all");
}

void add_search(CLI::App& sub, PlanCommand& command) {
  sub.add_option("--chips", command.chips,
                 "Chips to use, if not all; several (64,128 or 64..1024) are a sweep")
      ->type_name("N");
  add_texts(sub, "--sweep", command.sweeps,
            "Search at every value: n=64..1024, chip=h100,h200, node-size=8,64, "
            "hbm-bandwidth=1x,2x, hbm-capacity, matrix-rate, node-bandwidth, node-latency, "
            "fabric-bandwidth, fabric-latency; may be given again",
            "NAME=VALUES");
  sub.add_option("--top,--best", command.best, "Plans to print")
      ->type_name("N")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  sub.add_option("--threads", command.threads, "Threads to search with; 0 means every core")
      ->type_name("N")
      ->capture_default_str();
  sub.add_option("--shard", command.shard,
                 "Search part I (from 0) of N only and write it as a JSON line for flopcast merge")
      ->type_name("I/N");
  as_output(
      sub.add_option(
             "--out", command.out,
             "Add results to this file, a JSON line each; those it holds are not searched again")
          ->type_name("FILE.jsonl"));
}

}  // namespace

void add_plan(CLI::App& app, Action& action) {
  CLI::App* sub = app.add_subcommand("plan", "The best of all plans to train a model on a cluster");
  const auto command = std::make_shared<PlanCommand>();
  add_training(*sub, command->training);
  sub->get_option("--on")->description(sub->get_option("--on")->get_description() +
                                       "; again for others, which are compared");
  add_run(*sub, command->run);
  add_batch(*sub, command->plan);
  add_constraints(*sub, *command);
  add_degrees(*sub, command->plan);
  // Here it cuts the search; sharding of a plan is --must shard=N.
  sub->remove_option(sub->get_option("--shard"));
  add_search(*sub, *command);
  add_choices(*sub, command->plan);
  add_format(*sub, command->output.format, true);
  add_page(*sub, command->output.html);
  add_paper_options(*sub, command->paper);
  add_paper_figure(*sub, command->figure);
  set_example(*sub,
              "flopcast plan llama-3-8b --on \"4 x dgx-h100\" --global-batch 256 --seq 8192 "
              "--max-tp 8 --must pp=2 --memory 90%");
  sub->callback([command, sub, &action] {
    action = [command, sub](Io& io) { return run_plan(io, *sub, *command); };
  });
}

}  // namespace flopcast::cli
