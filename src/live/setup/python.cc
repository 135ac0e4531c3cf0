// Which Python, and which PyTorch it has.
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "flopcast/live/setup.h"
#include "live/wire/socket.h"

extern char** environ;

namespace flopcast {
namespace {

namespace fs = std::filesystem;
using live::Descriptor;

/// Finds the package without importing it, and not in the folder that this runs in.
constexpr const char* kQuestion = R"(
import importlib.util, sys
sys.path[:] = [entry for entry in sys.path if entry]
found = importlib.util.find_spec("torch")
print(sys.version.split()[0])
print(sys.executable)
print(found.origin if found and found.origin else "")
)";

/// What a program writes to its standard output. Errors: as errno has them; 0 where it failed itself.
std::optional<std::string> output_of(std::vector<std::string> words, int& error) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return error = errno, std::nullopt;
  const Descriptor in(ends[0]);
  Descriptor out(ends[1]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, out.get(), STDOUT_FILENO);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t pid = 0;
  error = ::posix_spawnp(&pid, arguments[0], &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  out = Descriptor();
  if (error != 0) return std::nullopt;
  std::string text;
  std::array<char, 4096> bytes;
  ssize_t got = 0;
  while ((got = ::read(in.get(), bytes.data(), bytes.size())) > 0 || (got < 0 && errno == EINTR)) {
    if (got > 0) text.append(bytes.data(), static_cast<std::size_t>(got));
  }
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return std::nullopt;
  return text;
}

/// The text between the quotes behind a name's equals sign; empty where it is None.
std::string assigned(const std::string& line) {
  const std::size_t equals = line.find('=');
  const std::size_t first = line.find_first_of("'\"", equals);
  if (equals == std::string::npos || first == std::string::npos) return {};
  return line.substr(first + 1, line.find(line[first], first + 1) - first - 1);
}

/// PyTorch says of itself what it was built for.
void read_version_file(LivePython& python) {
  std::ifstream file(python.torch / "version.py");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("__version__")) python.torch_version = assigned(line);
    if (line.starts_with("cuda:") || line.starts_with("cuda ")) python.cuda = assigned(line);
  }
}

}  // namespace

unsigned LivePython::cuda_major() const {
  unsigned major = 0;
  for (const char digit : cuda) {
    if (digit < '0' || digit > '9') break;
    major = 10 * major + static_cast<unsigned>(digit - '0');
  }
  return major;
}

Result<LivePython> look_at_python(const std::string& program) {
  int error = 0;
  const std::optional<std::string> text = output_of({program, "-c", kQuestion}, error);
  if (!text) {
    return usage_error(program,
                       error != 0 ? fmt::format("cannot be started: {}", std::strerror(error))
                                  : std::string("does not answer as a Python 3 does"),
                       "name a Python 3 with --python");
  }
  LivePython python;
  python.program = program;
  std::array<std::string, 3> lines;
  std::size_t at = 0;
  for (std::string& line : lines) {
    const std::size_t end = std::min(text->find('\n', at), text->size());
    line = text->substr(at, end - at);
    at = std::min(end + 1, text->size());
  }
  python.version = lines[0];
  python.path = lines[1];
  if (lines[2].empty()) return python;
  python.torch = fs::path(lines[2]).parent_path();
  read_version_file(python);
  return python;
}

}  // namespace flopcast
