// Which Python, and which PyTorch it has.
#include <algorithm>
#include <array>
#include <fstream>

#include "flopcast/live/setup.h"
#include "live/start/torch_build/program.h"
#include "live/start/torch_build/torch_build.h"

namespace flopcast {

using namespace live;  // the room's own names

namespace {

namespace fs = std::filesystem;

/// Finds the package without importing it, and not in the folder that this runs in.
constexpr const char* kQuestion = R"(
import importlib.util, sys
sys.path[:] = [entry for entry in sys.path if entry]
found = importlib.util.find_spec("torch")
print(sys.version.split()[0])
print(sys.executable)
print(found.origin if found and found.origin else "")
)";

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
  const Result<Printed> printed = run_program({program, "-c", kQuestion});
  if (!printed || printed->status != 0) {
    return usage_error(
        program, printed ? std::string("does not answer as a Python 3 does") : printed.error().what,
        "name a Python 3 with --python");
  }
  const std::string& text = printed->out;
  LivePython python;
  python.program = program;
  std::array<std::string, 3> lines;
  std::size_t at = 0;
  for (std::string& line : lines) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    line = text.substr(at, end - at);
    at = std::min(end + 1, text.size());
  }
  python.version = lines[0];
  python.path = lines[1];
  if (lines[2].empty()) return python;
  python.torch = fs::path(lines[2]).parent_path();
  read_version_file(python);
  return python;
}

Result<fs::path> live_torch_plugin(const LivePython& python, const fs::path& libraries,
                                   const std::function<void()>& compiles) {
  const TorchPackage torch{python.torch, python.torch_version,
                           static_cast<int>(python.cuda_major())};
  return torch_plugin(torch, libraries.parent_path() / "plugin", compiles);
}

}  // namespace flopcast
