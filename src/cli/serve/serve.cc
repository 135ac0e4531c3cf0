// flopcast serve: what the clients of an inference fleet see, where its time goes, what would change that.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/terminal/command.h"
#include "cli/terminal/options.h"
#include "cli/terminal/outputs.h"
#include "cli/terminal/timelines.h"
#include "flopcast/report/serve.h"

namespace flopcast::cli {
namespace {

namespace fs = std::filesystem;

struct ServeCommand {
  std::string model, cluster, from, arguments;
  std::vector<std::string> fits;
  ServeSettings settings;
  bool strict = false, quick = false, curve = false;
  FormatOptions format;
  fs::path html, requests;
  std::vector<fs::path> trace_out;
};

std::string serve_flag(std::string_view name) {
  std::string flag = "--" + std::string(name);
  std::ranges::replace(flag, '_', '-');
  return flag;
}

/// Diagnostics of the library name settings; on the command line they are flags.
Diagnostic as_serve_flag(Diagnostic error) {
  for (const ServeSetting& setting : serve_settings()) {
    if (error.where == setting.name) error.where = serve_flag(setting.name);
  }
  return error;
}

void add_serve_setting(CLI::App& sub, const ServeSetting& setting, ServeSettings& given) {
  const std::string name(setting.name), flag = serve_flag(name), meaning(setting.meaning);
  if (setting.takes.empty()) {
    const std::string no = "--no-" + flag.substr(2);
    const auto set = [&](const std::string& names, const char* value, const std::string& text) {
      return sub.add_flag_callback(
          names, [&given, name, value] { given.emplace_back(name, value); }, text);
    };
    set(flag, "true", fmt::format("{}; or {}", meaning, no));
    set(no, "false", "")->group("");  // told beside the other
    return;
  }
  CLI::Option* option = sub.add_option_function<std::vector<std::string>>(
      flag,
      [&given, name](const std::vector<std::string>& values) {
        for (const std::string& value : values) given.emplace_back(name, value);
      },
      meaning.empty() ? "The same, another degree" : meaning);
  option->type_name(std::string(setting.takes))->expected(1);
  if (setting.repeats) {
    option->take_all();
  } else {
    option->take_last();
  }
}

/// What the file asks, and what the line says in its place.
Result<ServeFile> asked_of(const ServeCommand& command) {
  ServeFile asked;
  if (!command.from.empty()) {
    Result<ServeFile> file = read_serve_file(command.from, command.arguments);
    if (!file) return file.error();
    asked = std::move(*file);
    if (command.strict && asked.launch) {
      if (auto problem = strict_problem(*asked.launch, command.from)) return *std::move(problem);
    }
  }
  if (!command.model.empty()) asked.model = command.model;
  if (!command.cluster.empty()) asked.cluster = command.cluster;
  for (const auto& one : command.settings) asked.settings.push_back(one);
  if (asked.model.empty()) {
    return usage_error(
        "MODEL", asked.launch ? "is missing: " + command.from + " does not name it" : "is missing",
        "such as meta-llama-3-70b, or a file with --from");
  }
  if (asked.cluster.empty()) {
    return usage_error("--on", "is missing", "name a cluster, such as \"2 x dgx-h100\"");
  }
  if (auto problem = take_fits(asked.cluster, command.fits)) return *problem;
  return asked;
}

int write_serve_files(Io& io, const ServeCommand& command, const ServeAnswer& answer) {
  if (!command.html.empty()) {
    const int code = write_page(io, command.html, serve_html(answer));
    if (code != kDone) return code;
  }
  if (!command.requests.empty()) {
    const int code = write_told(io, "requests", command.requests, serve_requests_csv(answer));
    if (code != kDone) return code;
  }
  if (command.trace_out.empty()) return kDone;
  return write_timelines(io, command.trace_out, serve_trace(answer));
}

/// What is wrong with a question that a file asks, with the file.
Diagnostic of_file(const ServeCommand& command, Diagnostic error) {
  const std::string& file = command.from;
  if (file.empty() || error.where.find(file) != std::string::npos) return error;
  error.where = error.where.empty() ? file : file + ": " + error.where;
  return error;
}

int run_serve(Io& io, const ServeCommand& command) {
  const Result<ServeFile> asked = asked_of(command);
  if (!asked) return fail(io, asked.error());
  const Catalog& catalog = Catalog::builtin();
  const Result<ServeQuestion> question = make_serve_question(*asked, catalog);
  if (!question) return fail(io, of_file(command, as_serve_flag(question.error())));
  ServeOptions options;
  options.next = options.sensitivity = !command.quick;
  options.curve = command.curve || (!command.html.empty() && !command.quick);
  const Result<ServeAnswer> answer = answer_serving(*question, catalog, options);
  if (!answer) return fail(io, of_file(command, as_serve_flag(answer.error())));
  if (const int code = write_serve_files(io, command, *answer); code != kDone) return code;
  return print(io,
               command.format.json  ? serve_json(*answer)
               : command.format.csv ? serve_csv(*answer)
                                    : serve_text(*answer),
               command.format);
}

void add_serve_outputs(CLI::App& sub, ServeCommand& command) {
  sub.add_flag("--curve", command.curve,
               "The same fleet under other loads too: latency against throughput");
  sub.add_flag("--quick", command.quick, "The answer alone: no next chips, no sensitivity");
  add_format(sub, command.format, true);
  add_page(sub, command.html);
  as_output(
      sub.add_option("--requests-out", command.requests, "Write a line of CSV for each request"))
      ->type_name("FILE");
  add_trace_out(sub, "replicas and requests", command.trace_out);
}

}  // namespace

void add_serve(CLI::App& app, Action& action) {
  CLI::App* sub = app.add_subcommand(
      "serve", "What the clients of an inference fleet see, where its time goes, what it costs");
  const auto command = std::make_shared<ServeCommand>();
  sub->add_option("MODEL", command->model,
                  "A built-in model (llama-3-70b, deepseek-r1, ...), or a Hugging Face config.json "
                  "or the folder that holds one")
      ->type_name("");
  sub->add_option("--on", command->cluster, "The cluster, such as \"2 x dgx-h100\"")
      ->type_name("CLUSTER");
  add_fits(*sub, command->fits);
  sub->add_option(
         "--from", command->from,
         "A question as TOML, or as `flopcast serve --json` wrote it, or what servers are started "
         "with: scripts of vLLM, SGLang and TensorRT-LLM, their YAML, Kubernetes'; flags stand "
         "before it (docs/reference/serve-files.md)")
      ->type_name("FILE");
  sub->add_option("--from-args", command->arguments,
                  "With a script: what it is started with, as a shell takes it: \"TP=4 8B\"")
      ->type_name("WORDS");
  sub->add_flag("--strict", command->strict,
                "Refuse a launch with flags that are not modelled, or that nobody knows");
  sub->add_flag("--search")
      ->description("Find the smallest fleet: flopcast serve-plan, with its options");
  for (const ServeSetting& setting : serve_settings()) {
    add_serve_setting(*sub, setting, command->settings);
  }
  add_serve_outputs(*sub, *command);
  set_example(
      *sub,
      "flopcast serve meta-llama-3-70b --on \"2 x dgx-h100\" --engine vllm --tp 4 --users 64 "
      "--input 1024 --output 1024");
  sub->callback(
      [command, &action] { action = [command](Io& io) { return run_serve(io, *command); }; });
}

}  // namespace flopcast::cli
