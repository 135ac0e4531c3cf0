// A launch script: which of its commands starts the training.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/text/names.h"
#include "base/text/numbers.h"
#include "parallel/launchers/texts.h"
#include "parallel/recognise.h"
#include "parallel/shell/shell.h"

namespace flopcast::parallel {
namespace {

/// Lines "#SBATCH --nodes=4": what the queue is asked for.
struct QueueLines {
  std::int64_t nodes = 0, chips_per_node = 0;
};

QueueLines queue_lines(std::string_view text) {
  QueueLines asked;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.starts_with("#SBATCH")) continue;
    std::string words(line.substr(7));
    std::replace(words.begin(), words.end(), '=', ' ');
    const std::vector<std::string> parts = shell_words(words);
    if (parts.size() < 2) continue;
    const std::string_view value = std::string_view(parts[1]).substr(parts[1].rfind(':') + 1);
    const std::int64_t number = parse_whole(value).value_or(0);
    if (number < 1 || number > kMostInPlan) continue;
    if (parts[0] == "--nodes" || parts[0] == "-N") asked.nodes = number;
    if ((parts[0] == "--gres" && parts[1].starts_with("gpu")) || parts[0] == "--gpus-per-node") {
      asked.chips_per_node = number;
    }
  }
  return asked;
}

/// What the queue and the launcher tell a script.
ShellInput shell_input(std::string_view text, const LaunchSite& site) {
  const QueueLines asked = queue_lines(text);
  const std::int64_t nodes = site.nodes > 0 ? site.nodes : asked.nodes;
  const std::int64_t chips = site.chips_per_node > 0 ? site.chips_per_node : asked.chips_per_node;
  ShellInput input = call_input(site);
  const auto tell = [&](std::int64_t value, std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) {
      if (value > 0) input.variables.try_emplace(std::string(name), std::to_string(value));
    }
  };
  tell(nodes, {"SLURM_NNODES", "SLURM_JOB_NUM_NODES"});
  tell(chips, {"SLURM_GPUS_ON_NODE", "SLURM_GPUS_PER_NODE", "KUBERNETES_CONTAINER_RESOURCE_GPU",
               "LOCAL_WORLD_SIZE"});
  if (chips > 0) input.accelerators = std::to_string(chips);
  return input;
}

/// Flags that say something of a plan, each counted once.
std::size_t known_flags(const LaunchSettings& flags) {
  std::set<std::string_view> names;
  for (const LaunchSetting& flag : flags) {
    if (is_plan_flag(flag.key)) names.insert(flag.key);
  }
  return names.size();
}

/// Lines that are flags alone (what `--print-as megatron` writes) are one command.
std::vector<std::vector<std::string>> commands_of(const ShellRun& run) {
  std::vector<std::vector<std::string>> commands;
  bool bare = false;
  for (const std::vector<std::string>& words : run.commands) {
    const bool flags_only = words[0].starts_with("--");
    if (flags_only && bare) {
      commands.back().insert(commands.back().end(), words.begin(), words.end());
    } else {
      commands.push_back(words);
    }
    bare = flags_only;
  }
  return commands;
}

/// How sure it is that a command starts the training: a program that is known tells more than flags, those
/// of one launcher more than Megatron-LM's, which preparing data takes too.
std::size_t weight_of(const Recognised& found, const std::vector<std::string>& words) {
  constexpr std::size_t kNamed = 1U << 20, kOwnFlags = 1U << 16;
  const LaunchSettings settings = command_settings(words, command_style(found.launcher));
  if (found.named) return kNamed + settings.size();
  const bool megatron = found.launcher == Launcher::kMegatronLm;
  return megatron ? known_flags(settings) : kOwnFlags + settings.size();
}

class ScriptReader {
 public:
  ScriptReader(std::string_view bytes, LaunchText& text)
      : text_(text), run_(run_shell(bytes, shell_input(bytes, text.site))) {}

  Result<Recognised> read() {
    std::optional<Recognised> found = choose();
    if (!found) found = of_variables();
    if (!found) return unknown();
    text_.settings = command_settings(text_.words, command_style(found->launcher));
    text_.variables = run_.variables;
    text_.written = run_.files;
    notes();
    return *found;
  }

 private:
  /// The command that is most surely the training's.
  std::optional<Recognised> choose() {
    std::optional<Recognised> best;
    std::size_t most = 0;
    std::vector<std::size_t> weights;
    for (std::vector<std::string>& words : commands_of(run_)) {
      std::optional<Recognised> found = recognise_command(words);
      if (!found) continue;
      weights.push_back(weight_of(*found, words));
      if (weights.back() <= most) continue;
      most = weights.back();
      best = std::move(found);
      text_.words = std::move(words);
    }
    // Preparing data takes a flag or two of the same names.
    const auto launches = std::count_if(weights.begin(), weights.end(),
                                        [&](std::size_t weight) { return 2 * weight > most; });
    if (launches > 1) {
      note(
          fmt::format("{} commands have flags of a plan: the one with the most is read", launches));
    }
    return best;
  }

  /// Of a script that others read, what its variables hold.
  std::optional<Recognised> of_variables() {
    for (const auto& [name, value] : run_.variables) {
      const std::vector<std::string> part = shell_words(value);
      const bool flags = known_flags(command_settings(part)) > 0;
      if (flags) text_.words.insert(text_.words.end(), part.begin(), part.end());
    }
    std::optional<Recognised> found = recognise_megatron(command_settings(text_.words));
    if (found) note("no command uses the flags: those of variables are read");
    return found;
  }

  Diagnostic unknown() const {
    for (const std::vector<std::string>& words : run_.commands) {
      const std::optional<Foreign> foreign = foreign_command(words);
      if (!foreign) continue;
      return {ErrorCode::kBadInput, text_.where, fmt::format("looks like {}", foreign->looks),
              std::string(foreign->hint)};
    }
    std::string why = "looks like " + looks();
    if (!run_.sourced.empty()) why += fmt::format("; it reads {}", fmt::join(run_.sourced, ", "));
    if (!run_.complete) why += "; its shell does more work than is followed";
    return {ErrorCode::kBadInput, text_.where,
            why + ": expected a launcher's program, flags or keys, found none",
            "give the file that training is launched with"};
  }

  /// What a script without a launcher looks like: the last command that it runs.
  std::string looks() const {
    if (run_.commands.empty()) return "a text without commands";
    std::string last;
    for (const std::string& word : run_.commands.back()) {
      last += (last.empty() ? "" : " ") + readable(word);
    }
    constexpr std::size_t kShown = 60;
    return fmt::format("a script that runs '{}'", last.substr(0, kShown));
  }

  void note(std::string words) { text_.notes.push_back(std::move(words)); }

  void notes() {
    constexpr std::size_t kShown = 3;
    for (std::size_t i = 0; i < std::min(run_.undecided.size(), kShown); ++i) {
      note(fmt::format("the script's condition {} is false", run_.undecided[i].substr(0, 80)));
    }
    if (run_.undecided.size() > kShown) {
      note(fmt::format("and so are {} others of its conditions", run_.undecided.size() - kShown));
    }
    for (const std::string& name : run_.sourced) {
      note(fmt::format("{}, which the script reads, says nothing of the plan", name));
    }
    if (!run_.complete) note("the script is followed as far as its work is bounded");
  }

  LaunchText& text_;
  ShellRun run_;
};

}  // namespace

Result<Recognised> read_script(std::string_view bytes, LaunchText& text) {
  return ScriptReader(bytes, text).read();
}

}  // namespace flopcast::parallel
