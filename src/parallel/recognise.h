// Which launcher a configuration is of: told by what it starts, sets or has for keys, never by falling
// through.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/parallel/launch.h"
#include "parallel/launch/text.h"

namespace flopcast::parallel {

struct Recognised {
  Launcher launcher = Launcher::kMegatronLm;
  std::string evidence;  ///< "megatron sft", "--per_device_train_batch_size"
  bool named = false;    ///< by the program that is started, not by flags that others may have too
};
/// What a command starts. None: it starts no training that is known.
std::optional<Recognised> recognise_command(const std::vector<std::string>& words);
/// The same of flags alone: Megatron-LM's where one of them says something of a plan.
std::optional<Recognised> recognise_megatron(const LaunchSettings& flags);
/// Whether a key tells by itself that a document is of Megatron-LM's arguments.
bool tells_megatron(std::string_view key);
/// What a document is of.
std::optional<Recognised> recognise_document(const nlohmann::ordered_json& root);

/// Something else that people have at hand: what it looks like, and what to do with it.
struct Foreign {
  std::string_view looks;  ///< "a command line of vLLM's server"
  std::string_view hint;   ///< "give it to flopcast serve --from"
};
std::optional<Foreign> foreign_command(const std::vector<std::string>& words);
std::optional<Foreign> foreign_document(const nlohmann::ordered_json& root);

/// Finds the command of a script that starts the training: its words and settings come into the text, and
/// what the script writes. Errors: no command is known, with what the script looks like.
Result<Recognised> read_script(std::string_view bytes, LaunchText& text);

/// By what a launcher is recognised, in words: programs, flags, keys of documents.
std::vector<std::string> evidence_of(Launcher launcher);

/// How a launcher's commands name settings.
CommandStyle command_style(Launcher launcher);
}  // namespace flopcast::parallel
