// What a launch configuration says, as a list of settings: of flags, overrides, or a document's keys.
//
//   --max_length 8192              max-length
//   model.hidden_size=64           model.hidden-size
//   trainer: {devices: 8}          trainer.devices
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/parallel/files.h"
#include "parallel/shell/shell.h"

namespace flopcast::parallel {

struct LaunchSetting {
  std::string key;  ///< '-' for '_', dotted where nested, without dashes before it
  std::vector<std::string>
      values;         ///< words up to the next flag; of a document: a scalar, or a list
  std::string shown;  ///< as the text has it: "--max_length", "trainer.devices"
  unsigned line = 0;  ///< of a document; 0: not known
  bool null = false;  ///< a document says that it is not set

  /// the first value; empty: none
  std::string_view first() const {
    return values.empty() ? std::string_view() : std::string_view(values.front());
  }
};
using LaunchSettings = std::vector<LaunchSetting>;

/// A key as settings have it: '-' for '_'.
std::string setting_key(std::string_view text);
/// A flag of this name ("tp"), written the usual way.
LaunchSetting flag_setting(std::string_view name, std::vector<std::string> values = {});

/// How the words of a command name settings.
enum class CommandStyle : std::uint8_t {
  kFlags,      ///< "--flag value", "--flag=value"
  kOverrides,  ///< the same, and "a.b=c" of Hydra's and its like
};
/// Flags of a command's words; "--flag value" in one word too, as arrays of quoted pairs leave them.
LaunchSettings command_settings(const std::vector<std::string>& words,
                                CommandStyle style = CommandStyle::kFlags);
/// The leaves of a document, in its order. Lists of scalars are one setting; members of other lists have
/// their place as a name ("datasets.0.path").
/// @param lines where it came from, for the lines of keys: dotted as in the document; may be empty
LaunchSettings document_settings(const nlohmann::ordered_json& root,
                                 const std::map<std::string, unsigned, std::less<>>& lines = {});

/// Whether a text is YAML rather than a script, by its first line.
bool looks_like_yaml(std::string_view first_line);
/// The first line that is neither empty nor a comment.
std::string_view first_line(std::string_view bytes);

/// A launch configuration on its way to a reader.
struct LaunchText {
  std::string where;                ///< for messages
  LaunchSite site;                  ///< on what it is started
  std::string folder;               ///< where files that it names lie; empty: none is looked for
  std::vector<std::string> words;   ///< of the command that starts the training; none of documents
  LaunchSettings settings;          ///< of the command or the document
  nlohmann::ordered_json document;  ///< null of commands
  std::vector<std::pair<std::string, std::string>> variables;  ///< of the script
  std::vector<ShellFile> written;                              ///< by the script
  std::vector<std::string> notes;                              ///< for PlanFile::assumed

  /// The text of a file that the configuration names: what the script writes under this name, else what
  /// lies beside it. None: neither is there.
  std::optional<std::string> beside(std::string_view name) const;
  /// Value of a variable of the script; empty: it has none.
  std::string_view variable(std::string_view name) const;
};

/// The document and its settings of a YAML text. Error: it is none, with the line.
std::optional<Diagnostic> read_yaml(std::string_view bytes, LaunchText& text);
/// Flags as the keys of a document ("--tp: 4"), as the items of its lists, or, where it has none of either
/// and `known` holds of one, as the last names of all its keys.
LaunchSettings document_flags(const LaunchSettings& leaves, bool (*known)(std::string_view key));

/// Whether a text is a Python program rather than a script, by its first line.
bool looks_like_python(std::string_view first_line);
/// What a Python program assigns to members by literals, and the recipe that it calls ("factory").
LaunchSettings python_settings(std::string_view bytes);

/// What a script or a document is called with: variables and arguments of LaunchSite::arguments.
ShellInput call_input(const LaunchSite& site);
/// Fills "${TP}", "${TP:-2}", "${TP:2}" and "${a.key}" of the settings themselves in.
void substitute(LaunchSettings& settings, const LaunchSite& site);

}  // namespace flopcast::parallel
