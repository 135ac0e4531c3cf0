// A launch script: which of its commands starts the training, and what DeepSpeed's JSON adds.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/text/names.h"
#include "base/text/numbers.h"
#include "parallel/launchers/texts.h"
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
  ShellInput input;
  const auto tell = [&](std::int64_t value, std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) {
      if (value > 0) input.variables[std::string(name)] = std::to_string(value);
    }
  };
  tell(nodes, {"SLURM_NNODES", "SLURM_JOB_NUM_NODES"});
  tell(chips, {"SLURM_GPUS_ON_NODE", "SLURM_GPUS_PER_NODE", "KUBERNETES_CONTAINER_RESOURCE_GPU",
               "LOCAL_WORLD_SIZE"});
  if (chips > 0) input.accelerators = std::to_string(chips);
  for (const std::string& word : shell_words(site.arguments)) {
    const std::size_t equals = word.find('=');
    const bool variable = equals != std::string::npos && equals > 0 && word[0] != '-';
    if (variable) {
      input.variables[word.substr(0, equals)] = word.substr(equals + 1);
    } else {
      input.arguments.push_back(word);
    }
  }
  return input;
}

/// Flags that say something of a plan, each counted once.
std::size_t known_flags(const std::vector<LaunchFlag>& flags) {
  std::set<std::string_view> names;
  for (const LaunchFlag& flag : flags) {
    if (is_plan_flag(flag.name)) names.insert(flag.name);
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

class ScriptReader {
 public:
  ScriptReader(std::string_view text, const std::string& where, const LaunchSite& site)
      : where_(where), site_(site), run_(run_shell(text, shell_input(text, site))) {}

  Result<PlanFile> read() {
    choose();
    if (known_flags(flags_) == 0) return nothing_known();
    Result<PlanFile> file = read_megatron(flags_, where_);
    if (!file) return file;
    if (auto problem = add_deepspeed(*file)) return *problem;
    notes(*file);
    return file;
  }

 private:
  /// The command with the most flags of a plan; without one, what variables hold.
  void choose() {
    std::size_t most = 0;
    std::vector<std::size_t> counts;
    for (const std::vector<std::string>& words : commands_of(run_)) {
      std::vector<LaunchFlag> flags = flags_of(words);
      counts.push_back(known_flags(flags));
      if (counts.back() <= most) continue;
      most = counts.back();
      flags_ = std::move(flags);
    }
    // Preparing data takes a flag or two of the same names.
    const auto launches = std::count_if(counts.begin(), counts.end(), [&](std::size_t known) {
      return known > 0 && 2 * known > most;
    });
    if (launches > 1) {
      notes_.push_back(
          fmt::format("{} commands have flags of a plan: the one with the most is read", launches));
    }
    if (most > 0) return;
    std::vector<std::string> words;
    for (const auto& [name, value] : run_.variables) {
      const std::vector<std::string> part = shell_words(value);
      if (known_flags(flags_of(part)) > 0) words.insert(words.end(), part.begin(), part.end());
    }
    flags_ = flags_of(words);
    if (!words.empty())
      notes_.emplace_back("no command uses the flags: those of variables are read");
  }

  Diagnostic nothing_known() const {
    std::string why;
    if (!run_.sourced.empty()) why = fmt::format("; it reads {}", fmt::join(run_.sourced, ", "));
    if (!run_.complete) why += "; its shell does more work than is followed";
    return {ErrorCode::kBadInput, where_,
            "expected flags of Megatron-LM, torchtitan TOML or DeepSpeed JSON, found none" + why,
            "give the file that training is launched with"};
  }

  /// Name of DeepSpeed's configuration, where a flag says it.
  std::string configuration() const {
    for (const LaunchFlag& flag : flags_) {
      const bool names = flag.name == "deepspeed-config" || flag.name == "ds-config" ||
                         (flag.name == "deepspeed" && flag.first().ends_with(".json"));
      if (names) return std::string(flag.first());
    }
    return {};
  }

  std::optional<Diagnostic> add_deepspeed(PlanFile& file) {
    const std::string name = configuration();
    const bool used = !name.empty() || has("deepspeed");
    if (!used) return std::nullopt;
    nlohmann::json root;
    for (const ShellFile& written : run_.files) {
      if (!name.empty() && written.name != name) continue;
      nlohmann::json parsed = nlohmann::json::parse(closed(written.text), nullptr, false, true);
      if (is_deepspeed(parsed)) root = std::move(parsed);
    }
    if (root.is_null()) {
      if (!name.empty()) {
        notes_.push_back(
            fmt::format("{} is another file: of DeepSpeed, --zero-stage and precision "
                        "alone are read",
                        readable(name)));
      }
      return std::nullopt;
    }
    const Result<PlanFile> told = read_deepspeed(root, where_, site_.bf16);
    if (!told) return told.error();
    merge(file, *told, root);
    return std::nullopt;
  }

  bool has(std::string_view name) const {
    return std::any_of(flags_.begin(), flags_.end(),
                       [&](const LaunchFlag& flag) { return flag.name == name; });
  }

  /// JSON with what the script does not know as "auto".
  static std::string closed(const std::string& text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const std::string_view rest = std::string_view(text).substr(i);
      const std::string name = unknown_in(rest);
      if (!has_unknown(rest.substr(0, 1))) {
        out += text[i];
        continue;
      }
      const bool quoted = i > 0 && text[i - 1] == '"';
      out += quoted ? "auto" : "\"auto\"";
      i += name.size() + 1;
    }
    return out;
  }

  /// DeepSpeed's own settings come from its JSON, the others from flags where both say them.
  void merge(PlanFile& file, const PlanFile& told, const nlohmann::json& root) const {
    Plan& plan = file.plan;
    if (plan.precision == Precision::kFp32) plan.precision = told.plan.precision;
    if (!has("micro-batch-size")) plan.micro_batch = told.plan.micro_batch;
    if (plan.global_batch == 0) plan.global_batch = told.plan.global_batch;
    if (plan.global_batch == 0) file.accumulation = told.accumulation;
    plan.overlap.gradients = told.plan.overlap.gradients;
    plan.overlap.weights = told.plan.overlap.weights;
    plan.offload = std::max(plan.offload, told.plan.offload);
    plan.shard = told.plan.shard;
    plan.zero = told.plan.zero;
    if (root.contains("zero_optimization") || plan.precision >= Precision::kBf16) {
      plan.fp32_gradients = told.plan.fp32_gradients;
    }
    for (const std::string& words : told.unmodelled) file.unmodelled.push_back(words);
  }

  void notes(PlanFile& file) const {
    file.assumed.insert(file.assumed.end(), notes_.begin(), notes_.end());
    constexpr std::size_t kShown = 3;
    for (std::size_t i = 0; i < std::min(run_.undecided.size(), kShown); ++i) {
      file.assumed.push_back(
          fmt::format("the script's condition {} is false", run_.undecided[i].substr(0, 80)));
    }
    if (run_.undecided.size() > kShown) {
      file.assumed.push_back(
          fmt::format("and so are {} others of its conditions", run_.undecided.size() - kShown));
    }
    for (const std::string& name : run_.sourced) {
      file.assumed.push_back(
          fmt::format("{}, which the script reads, says nothing of the plan", name));
    }
    if (!run_.complete) {
      file.assumed.emplace_back("the script is followed as far as its work is bounded");
    }
  }

  const std::string& where_;
  const LaunchSite& site_;
  ShellRun run_;
  std::vector<LaunchFlag> flags_;
  std::vector<std::string> notes_;
};

}  // namespace

Result<PlanFile> read_script(std::string_view text, const std::string& where,
                             const LaunchSite& site) {
  if (looks_like_yaml(first_line(text))) {
    const std::vector<LaunchFlag> flags = yaml_flags(text);
    if (known_flags(flags) > 0) return read_megatron(flags, where);
  }
  return ScriptReader(text, where, site).read();
}

}  // namespace flopcast::parallel
