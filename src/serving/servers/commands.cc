#include "serving/servers/commands.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "flopcast/parallel/shell.h"

namespace flopcast::serving {
namespace {

constexpr int kDeepestScript = 3;

/// A module that `python -m` starts, or a program with its first word.
struct KnownServer {
  std::string_view program, word;
  ServingEngine engine;
  bool dynamo = false;
};
constexpr std::array kKnownServers = {
    KnownServer{"vllm", "serve", ServingEngine::kVllm},
    KnownServer{"vllm.entrypoints.openai.api_server", "", ServingEngine::kVllm},
    KnownServer{"vllm.entrypoints.api_server", "", ServingEngine::kVllm},
    KnownServer{"vllm.entrypoints.cli.main", "serve", ServingEngine::kVllm},
    KnownServer{"sglang", "serve", ServingEngine::kSglang},
    KnownServer{"sglang.launch_server", "", ServingEngine::kSglang},
    KnownServer{"trtllm-serve", "serve", ServingEngine::kTensorRtLlm},
    KnownServer{"trtllm-serve", "", ServingEngine::kTensorRtLlm},
    KnownServer{"tensorrt_llm.commands.serve", "", ServingEngine::kTensorRtLlm},
    KnownServer{"dynamo.vllm", "", ServingEngine::kVllm, true},
    KnownServer{"dynamo.sglang", "", ServingEngine::kSglang, true},
    KnownServer{"dynamo.trtllm", "", ServingEngine::kTensorRtLlm, true},
};
/// Servers that are not modelled.
constexpr std::array kOtherServers = {
    std::string_view("text-generation-launcher"), std::string_view("lmdeploy"),
    std::string_view("llama-server"), std::string_view("tritonserver"),
    std::string_view("fastdeploy.entrypoints.openai.api_server")};
/// Images whose entry point is a server.
constexpr std::array<std::string_view, 2> kServerImages = {"vllm/vllm-openai", "vllm-openai"};

std::string_view base_name(std::string_view word) { return word.substr(word.rfind('/') + 1); }

/// "0.10.2" of "vllm/vllm-openai:v0.10.2-cu128"; empty where it is no image of the engine's own, or the tag no version.
std::string version_in(std::string_view image, ServingEngine engine) {
  constexpr std::array<std::string_view, 3> kOwn = {"vllm-openai", "lmsysorg/sglang",
                                                    "tensorrt-llm/release"};
  const std::size_t colon = image.rfind(':');
  if (colon == std::string_view::npos || image.find('/', colon) != std::string_view::npos)
    return {};
  if (!image.substr(0, colon).ends_with(kOwn[static_cast<std::size_t>(engine)])) return {};
  std::string_view tag = image.substr(colon + 1);
  if (tag.starts_with('v')) tag.remove_prefix(1);
  const std::string_view version = tag.substr(0, tag.find_first_not_of("0123456789."));
  return version.find('.') == std::string_view::npos ? std::string() : std::string(version);
}

bool is_image(std::string_view word) {
  if (word.starts_with('-') || word.find(' ') != std::string_view::npos) return false;
  const std::size_t colon = word.rfind(':');
  return word.find('/') != std::string_view::npos && colon != std::string_view::npos &&
         colon > word.rfind('/');
}

bool serves_by_itself(std::string_view image) {
  return std::ranges::any_of(kServerImages, [&](std::string_view known) {
    return image.substr(0, image.rfind(':')).ends_with(known);
  });
}

/// How many words the server's name takes at `at`; nothing where none stands there.
const KnownServer* server_at(const std::vector<std::string>& words, std::size_t at,
                             std::size_t& length) {
  for (const KnownServer& known : kKnownServers) {
    if (base_name(words[at]) != known.program) continue;
    const bool module = known.program.find('.') != std::string_view::npos;
    if (module && (at == 0 || !words[at - 1].ends_with("-m"))) continue;
    if (!known.word.empty() && (at + 1 >= words.size() || words[at + 1] != known.word)) continue;
    length = known.word.empty() ? 1 : 2;
    return &known;
  }
  return nullptr;
}

std::string program_text(const std::vector<std::string>& words, std::size_t at,
                         std::size_t length) {
  const bool module = at > 0 && words[at - 1].ends_with("-m");
  std::string text = module ? "python -m " + words[at] : std::string(base_name(words[at]));
  if (length == 2) text += " " + words[at + 1];
  return text;
}

}  // namespace

bool has_server_word(std::string_view text) {
  const auto names = [&](std::string_view word) { return text.find(word) != text.npos; };
  return std::ranges::any_of(
             kKnownServers,
             [&](const KnownServer& known) {
               // A word that questions have too must stand with its second.
               const bool common = known.program == "vllm" || known.program == "sglang";
               return common ? names(std::string(known.program) + " serve") : names(known.program);
             }) ||
         std::ranges::any_of(kServerImages, names) || std::ranges::any_of(kOtherServers, names);
}

void find_servers(const std::vector<std::string>& words, std::string_view image,
                  const std::map<std::string, std::string, std::less<>>& variables,
                  StartedServers& out, int depth) {
  std::string_view from = image;
  std::size_t behind_image = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::size_t length = 0;
    if (const KnownServer* known = server_at(words, i, length)) {
      ServerCommand command{known->engine,
                            program_text(words, i, length),
                            version_in(from, known->engine),
                            known->dynamo,
                            {}};
      command.words.assign(words.begin() + static_cast<std::ptrdiff_t>(i + length), words.end());
      out.commands.push_back(std::move(command));
      return;
    }
    if (std::ranges::find(kOtherServers, base_name(words[i])) != kOtherServers.end()) {
      out.others.emplace_back(base_name(words[i]));
    }
    if (is_image(words[i])) from = words[i], behind_image = i + 1;
  }
  for (const std::string& word : words) {
    if (depth >= kDeepestScript || word.find_first_of(" \n") == std::string::npos) continue;
    if (!has_server_word(word)) continue;
    const ShellCommands inner = shell_commands(word, {}, variables);
    for (const auto& [name, text] : inner.files) out.files.emplace(name, text);
    for (const auto& command : inner.commands) {
      find_servers(command, from, variables, out, depth + 1);
    }
    return;
  }
  if (!serves_by_itself(from)) return;
  ServerCommand command{
      ServingEngine::kVllm, "vllm serve", version_in(from, ServingEngine::kVllm), false, {}};
  command.words.assign(words.begin() + static_cast<std::ptrdiff_t>(behind_image), words.end());
  out.commands.push_back(std::move(command));
}

void find_servers_in_script(std::string_view text, std::string_view arguments,
                            StartedServers& out) {
  const ShellCommands run = shell_commands(text, arguments);
  for (const auto& [name, written] : run.files) out.files.emplace(name, written);
  for (const auto& command : run.commands) find_servers(command, {}, {}, out);
  constexpr std::size_t kShown = 3;
  for (std::size_t i = 0; i < std::min(run.undecided.size(), kShown); ++i) {
    out.notes.push_back("the script's condition " + run.undecided[i].substr(0, 80) + " is false");
  }
  if (!run.complete) out.notes.emplace_back("the script is followed as far as its work is bounded");
}

}  // namespace flopcast::serving
