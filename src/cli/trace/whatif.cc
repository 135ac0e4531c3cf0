// flopcast whatif: a recording, changed and run again.
#include "flopcast/whatif.h"

#include <fmt/format.h>

#include <memory>

#include "cli/terminal/command.h"
#include "cli/terminal/options.h"
#include "cli/terminal/outputs.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/timelines.h"
#include "cli/trace/runs.h"
#include "flopcast/base/time_factor.h"
#include "flopcast/question/whatif.h"
#include "flopcast/report/replay.h"
#include "flopcast/report/whatif.h"

namespace flopcast::cli {
namespace {

namespace fs = std::filesystem;

struct WhatIfCommand {
  InputOptions input;
  std::vector<std::string> set, scale;  // as written: "dp=64", "kernel:gemm=0.8"
  WhatIfChanges changes;
  WhatIfFacts facts;
  bool sensitivity = false;
  std::string questions;
  std::vector<std::string> fits;
  fs::path html;
  std::vector<fs::path> trace_out;
  FormatOptions format;
};

/// "what=value" cut at its last sign: what stands before it may be a regular expression.
Result<std::pair<std::string, std::string>> cut(const std::string& flag, const std::string& text) {
  const std::size_t sign = text.rfind('=');
  if (sign == std::string::npos || sign == 0 || sign + 1 == text.size()) {
    return usage_error(flag, fmt::format("expected WHAT=VALUE, found '{}'", text),
                       flag == "--set" ? "such as --set dp=64" : "such as --scale kernel:gemm=0.8");
  }
  return std::pair(text.substr(0, sign), text.substr(sign + 1));
}

/// Fills in what the parser left as written.
std::optional<Diagnostic> read_changes(WhatIfCommand& command) {
  for (const std::string& text : command.set) {
    Result<std::pair<std::string, std::string>> change = cut("--set", text);
    if (!change) return change.error();
    command.changes.set.push_back(std::move(*change));
  }
  for (const std::string& text : command.scale) {
    const Result<std::pair<std::string, std::string>> change = cut("--scale", text);
    if (!change) return change.error();
    Result<TimeFactor> read = parse_time_factor(change->second, "--scale");
    if (!read) return read.error();
    command.changes.scale.push_back({change->first, read->factor, std::move(read->words)});
  }
  return std::nullopt;
}

/// The one run that is asked: a folder of several needs --prefix.
Result<Run> only_run(const InputOptions& input) {
  const Result<std::vector<Run>> runs = runs_of(input);
  if (!runs) return runs.error();
  if (runs->size() == 1) return runs->front();
  std::string names;
  for (const Run& run : *runs) names += "\n  " + fs::path(run.name).filename().string();
  return Diagnostic{ErrorCode::kUsage, input.paths.front().string(),
                    "holds several runs, and a question is put to one:" + names,
                    "choose one with --prefix"};
}

Result<WhatIf> read_recording(Io& io, const WhatIfCommand& command) {
  const InputOptions& input = command.input;
  const Result<Run> run = only_run(input);
  if (!run) return run.error();
  ReadOptions options;
  options.threads = input.threads;
  options.steps = input.steps;
  Result<TraceSet> set = read_run(io, *run, options);
  if (!set) return set.error();
  for (const Diagnostic& bad : set->unreadable) warn(io, bad.text());
  Result<WhatIf> whatif =
      WhatIf::of(std::make_shared<const TraceSet>(std::move(*set)), input.threads);
  if (!whatif) return whatif;
  if (const auto problem = whatif->tell(command.facts)) return *problem;
  return whatif;
}

int write_files(Io& io, const WhatIfCommand& command, const WhatIf& what_if,
                const WhatIfReport& report) {
  if (command.html.empty() && command.trace_out.empty()) return kDone;
  std::optional<std::pair<WhatIfRun, WhatIfRun>> runs;
  if (report.answer.refused.empty()) {
    Result<std::pair<WhatIfRun, WhatIfRun>> made = what_if.runs(command.changes);
    if (!made) return fail(io, made.error());
    runs = std::move(*made);
  }
  if (!command.html.empty()) {
    const int code = write_page(io, command.html, whatif_html(report, runs));
    if (code != kDone) return code;
  }
  if (!runs || command.trace_out.empty()) return kDone;
  return write_timelines(io, command.trace_out,
                         replayed_traces(*runs->second.set, runs->second.replay));
}

/// Why a question has no answer, in a line: the result has all of it.
Diagnostic no_answer(const WhatIf& what_if, const WhatIfAnswer& answer) {
  const WhatIfRefusal& first = answer.refused.front();
  return {ErrorCode::kNoAnswer, what_if.set().label,
          fmt::format("no answer to {}: {}", first.change, first.missing), ""};
}

int ask_one(Io& io, const WhatIfCommand& command, const WhatIf& what_if) {
  WhatIfReport report;
  report.recording = what_if.set().label;
  Result<WhatIfAnswer> answer = what_if.ask(command.changes);
  if (!answer) return fail(io, answer.error());
  report.answer = std::move(*answer);
  if (command.sensitivity) {
    Result<std::vector<WhatIfSensitivity>> parts = what_if.sensitivity();
    if (!parts) return fail(io, parts.error());
    report.sensitivity = std::move(*parts);
  }
  if (const int code = write_files(io, command, what_if, report); code != kDone) return code;
  const int printed =
      print(io, command.format.json ? whatif_json(report) : whatif_text(report), command.format);
  if (printed != kDone || report.answer.refused.empty()) return printed;
  return fail(io, no_answer(what_if, report.answer));
}

WhatIfQuestion ask_case(const WhatIf& what_if, const WhatIfCase& asked) {
  WhatIfQuestion question{asked.id, asked.problem, {}};
  if (question.failure) return question;
  Result<WhatIfAnswer> answer = what_if.ask(asked.changes);
  if (answer) {
    question.answer = std::move(*answer);
  } else {
    question.failure = answer.error();
  }
  return question;
}

/// Of the first question that has no answer.
int tell_unanswered(Io& io, const WhatIf& what_if, const std::vector<WhatIfQuestion>& questions) {
  for (const WhatIfQuestion& question : questions) {
    if (question.failure) return fail(io, *question.failure);
    if (!question.answer.refused.empty()) return fail(io, no_answer(what_if, question.answer));
  }
  return kDone;
}

/// All questions of a file, put to one recording.
int ask_all(Io& io, const WhatIfCommand& command, const WhatIf& what_if,
            const std::vector<WhatIfCase>& cases) {
  std::vector<WhatIfQuestion> questions;
  {
    Progress progress(io, Progress::Of::kQuestions);
    const auto tell = progress.callback();
    for (const WhatIfCase& asked : cases) {
      if (tell) tell(questions.size(), cases.size());
      questions.push_back(ask_case(what_if, asked));
    }
  }
  const std::string& recording = what_if.set().label;
  std::string text;
  if (command.format.json) {
    for (const WhatIfQuestion& question : questions) text += question_json(recording, question);
  } else {
    text = questions_text(recording, questions);
  }
  const int printed = print(io, text, command.format);
  return printed != kDone ? printed : tell_unanswered(io, what_if, questions);
}

/// The file is read first: what is wrong with it is told before a long recording is read.
int run_questions(Io& io, const WhatIfCommand& command) {
  if (!command.changes.empty() || !command.changes.steps.empty()) {
    return fail(io, usage_error("--questions", "the file says what changes, and the line does too",
                                "put every change into the file"));
  }
  const Result<std::vector<WhatIfCase>> cases = read_whatif_cases(command.questions);
  if (!cases) return fail(io, cases.error());
  const Result<WhatIf> what_if = read_recording(io, command);
  if (!what_if) return fail(io, what_if.error());
  return ask_all(io, command, *what_if, *cases);
}

int run_whatif(Io& io, WhatIfCommand& command) {
  if (const auto problem = read_changes(command)) return fail(io, *problem);
  if (const auto problem = take_fits(command.changes.on, command.fits)) return fail(io, *problem);
  if (!command.questions.empty()) return run_questions(io, command);
  if (command.changes.empty() && !command.sensitivity) {
    return fail(io,
                usage_error("whatif", "nothing is asked",
                            "say what changes (--set, --scale, --remove, --add, --kernels-from, "
                            "--chip, --on), ask for --sensitivity, or give --questions"));
  }
  const Result<WhatIf> what_if = read_recording(io, command);
  if (!what_if) return fail(io, what_if.error());
  return ask_one(io, command, *what_if);
}

/// "dp, pp, straggler[:RANK]": what an option may name.
std::string names_of(std::string_view option) {
  std::string list;
  for (const WhatIfKnob& knob : whatif_knobs()) {
    if (knob.option != option || knob.help.empty()) continue;
    list += (list.empty() ? "" : ", ") + knob.name;
    if (option == "set" || knob.argument.empty()) continue;
    const bool optional = knob.argument.starts_with('[');
    list += optional ? fmt::format("[:{}", knob.argument.substr(1)) : ":" + knob.argument;
  }
  return list;
}

void add_changes(CLI::App& sub, WhatIfCommand& command) {
  const auto several = [&sub](const char* flag, std::vector<std::string>& values,
                              const std::string& what, const char* type) {
    sub.add_option(flag, values, fmt::format("{}: {}", what, names_of(flag + 2)))
        ->type_name(type)
        ->expected(1)
        ->take_all()
        ->allow_extra_args(false);
  };
  several("--set", command.set, "Another size of the run; may be given again", "KNOB=VALUE");
  several("--scale", command.scale, "So many times as long; may be given again", "WHAT=FACTOR");
  several("--remove", command.changes.remove, "Without; several with commas", "WHAT,...");
  sub.get_option("--remove")->delimiter(',')->expected(1, CLI::detail::expected_max_vector_size);
  several("--add", command.changes.add, "With; may be given again", "WHAT");
  sub.add_option("--kernels-from", command.changes.kernels_from,
                 "Kernels as long as their equals in this other recording")
      ->type_name("DIR");
  sub.add_option("--chip", command.changes.chip, "Kernels on this chip, such as mi300x")
      ->type_name("CHIP");
  sub.add_option("--on", command.changes.on,
                 "Collectives on this cluster, such as \"64 x dgx-h100\"")
      ->type_name("CLUSTER");
  add_fits(sub, command.fits);
  sub.add_flag("--scale-only", command.changes.scale_only,
               "With --set dp=N: collectives are replaced, nothing else changes");
  sub.add_option("--step", command.changes.steps,
                 "Judge this step alone, such as 12 or ProfilerStep#12; may be given again")
      ->type_name("STEP")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
}

void add_facts(CLI::App& sub, WhatIfFacts& facts) {
  sub.add_option("--model", facts.model,
                 "The model that ran, as for estimate: for memory and MFU, before and after")
      ->type_name("MODEL");
  sub.add_option("--tokens-per-step", facts.tokens,
                 "Tokens of a recorded step, all ranks, where shapes do not tell")
      ->type_name("N")
      ->transform(tokens());
  sub.add_option("--sequence", facts.sequence,
                 "Tokens of a recorded sequence, where shapes do not tell")
      ->type_name("N")
      ->transform(tokens());
  sub.add_option("--price", facts.usd_per_chip_hour, "What an hour of one chip costs, in USD")
      ->type_name("USD");
}

}  // namespace

void add_whatif(CLI::App& app, Action& action) {
  CLI::App* sub = app.add_subcommand(
      "whatif",
      "Change a recording and forecast the run: what it would take then, and how sure "
      "that is");
  const auto command = std::make_shared<WhatIfCommand>();
  add_input(*sub, command->input);
  add_steps(*sub, command->input.steps);
  add_changes(*sub, *command);
  add_facts(*sub, command->facts);
  sub->add_flag("--sensitivity", command->sensitivity,
                "What each part of the run is worth: with 10 % less of it, and with none");
  CLI::Option* questions =
      sub->add_option("--questions", command->questions,
                      "Several what-ifs, the recording read once: a table, or a line of JSON each "
                      "(docs/reference/what-if-files.md)")
          ->type_name("FILE.json")
          ->excludes(sub->get_option("--sensitivity"));
  add_format(*sub, command->format, false);
  add_page(*sub, command->html);
  add_trace_out(*sub, "the run after", command->trace_out);
  questions->excludes(sub->get_option("--html"))->excludes(sub->get_option("--trace-out"));
  set_example(*sub, "flopcast whatif demo/sample --remove straggler --scale kernel:gemm=0.8");
  sub->callback(
      [command, &action] { action = [command](Io& io) { return run_whatif(io, *command); }; });
}

}  // namespace flopcast::cli
