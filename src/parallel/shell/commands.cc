// The commands of a script as other rooms see them.
#include "flopcast/parallel/shell.h"

#include "parallel/shell/shell.h"

namespace flopcast {

using namespace parallel;  // the room's own names

ShellCommands shell_commands(std::string_view text, std::string_view arguments,
                             const std::map<std::string, std::string, std::less<>>& variables) {
  ShellInput input;
  input.variables = variables;
  for (const std::string& word : shell_words(arguments)) {
    const std::size_t equals = word.find('=');
    if (equals != std::string::npos && equals > 0 && word[0] != '-') {
      input.variables[word.substr(0, equals)] = word.substr(equals + 1);
    } else {
      input.arguments.push_back(word);
    }
  }
  ShellRun run = run_shell(text, input);
  ShellCommands out;
  for (std::vector<std::string>& words : run.commands) {
    for (std::string& word : words) word = readable(word);
    out.commands.push_back(std::move(words));
  }
  for (ShellFile& file : run.files) out.files.emplace_back(file.name, readable(file.text));
  out.undecided = std::move(run.undecided);
  out.sourced = std::move(run.sourced);
  out.complete = run.complete;
  return out;
}

}  // namespace flopcast
