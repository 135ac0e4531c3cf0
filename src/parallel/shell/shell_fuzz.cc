// Any bytes are a script that ends: within its bound of work, and the same each time.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "parallel/shell/shell.h"
#include "support/fuzz_target.h"

FUZZ_TARGET(data, size) {
  using namespace flopcast::parallel;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  ShellInput input;
  input.variables["SLURM_NNODES"] = "4";
  input.arguments = {"8", "two words"};
  const ShellRun run = run_shell(text, input);
  const ShellRun again = run_shell(text, input);
  flopcast::test::check(run.commands == again.commands && run.variables == again.variables);
  std::size_t bytes = 0;
  for (const auto& words : run.commands) {
    for (const auto& word : words) bytes += word.size();
  }
  constexpr std::size_t kMost = std::size_t{1} << 26;
  flopcast::test::check(bytes <= kMost);
  (void)shell_words(text);
  return 0;
}
