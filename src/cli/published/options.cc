#include "cli/published/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace flopcast::cli {
namespace {

constexpr const char* kGroup = "Paper mode";
// Options of estimate and plan that paper mode knows besides its own.
constexpr std::array<std::string_view, 19> kShared = {
    "help",        "json",       "csv",  "tp",     "tp2",          "pp",  "dp",
    "micro-batch", "microbatch", "mbs",  "panels", "global-batch", "gbs", "chips",
    "best",        "top",        "must", "sweep",  "threads"};

bool shared(const CLI::Option& option) {
  return option.get_positional() || std::ranges::any_of(kShared, [&](std::string_view known) {
           return option.check_lname(std::string(known));
         });
}

Diagnostic of_other_mode(const CLI::Option& option, std::string_view mode, std::string_view hint) {
  return {ErrorCode::kUsage, option.get_name(), fmt::format("is no option of {} mode", mode),
          std::string(hint)};
}

}  // namespace

void add_paper_options(CLI::App& command, PaperOptions& options) {
  const auto add = [&](const std::string& flag, auto& value, const std::string& text,
                       const std::string& type) {
    return command.add_option(flag, value, text)->type_name(type)->group(kGroup);
  };
  add("--model-of", options.model_of,
      "Forecast with a published model: Subramanian et al. (docs/theory/subramanian.md)",
      "subramanian");
  add("--system", options.system, "A100, H200, B200 or B200-next, in NVLink domains: B200-NVS8",
      "NAME");
  add("--strategy", options.strategy, "How tensors are cut: 1d, 2d or summa", "NAME");
  add("--defects", options.defects,
      "Errors of the published code to keep: published, repaired, none, or a list", "LIST");
  const std::array<std::pair<const char*, std::int64_t*>, 4> groups = {{
      {"tp", &options.domain.tp1},
      {"tp2", &options.domain.tp2},
      {"pp", &options.domain.pp},
      {"dp", &options.domain.dp},
  }};
  for (const auto& [group, value] : groups) {
    add(fmt::format("--domain-{}", group), *value,
        fmt::format("GPUs of each {} group in one NVLink domain, instead of the fastest", group),
        "N");
  }
}

void add_paper_figure(CLI::App& command, std::string& figure) {
  command
      .add_option("--figure", figure,
                  "A figure of the paper as data: 1, 2a, ..., A6 (examples/paper_subramanian)")
      ->type_name("NAME")
      ->group(kGroup);
}

Result<bool> paper_mode(const CLI::App& command, const PaperOptions& options) {
  const bool paper = !options.model_of.empty();
  if (paper && options.model_of != "subramanian") {
    return Diagnostic{ErrorCode::kUsage, options.model_of, "no such published model",
                      "--model-of subramanian"};
  }
  for (const CLI::Option* option : command.get_options()) {
    if (option->count() == 0 || shared(*option)) continue;
    const bool of_paper = option->get_group() == kGroup;
    if (of_paper && !paper) {
      return of_other_mode(*option, "full", "it needs --model-of subramanian");
    }
    if (!of_paper && paper) {
      return of_other_mode(*option, "paper", "leave it out, or leave out --model-of");
    }
  }
  return paper;
}

}  // namespace flopcast::cli
