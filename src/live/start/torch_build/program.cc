#include "live/start/torch_build/program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "live/wire/socket.h"

extern char** environ;

namespace flopcast::live {
namespace {

struct Pipe {
  Descriptor read, write;
};

std::optional<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
  return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

/// Until both are at their end.
void read_both(const Descriptor& first, std::string& one, const Descriptor& second,
               std::string& other) {
  std::array<pollfd, 2> open = {{{first.get(), POLLIN, 0}, {second.get(), POLLIN, 0}}};
  std::string* const texts[] = {&one, &other};
  while (open[0].fd >= 0 || open[1].fd >= 0) {
    if (::poll(open.data(), open.size(), -1) < 0 && errno != EINTR) return;
    for (std::size_t i = 0; i < open.size(); ++i) {
      if (open[i].fd < 0 || open[i].revents == 0) continue;
      char bytes[4096];
      const ssize_t count = ::read(open[i].fd, bytes, sizeof bytes);
      if (count > 0) {
        texts[i]->append(bytes, static_cast<std::size_t>(count));
      } else {
        open[i].fd = -1;
      }
    }
  }
}

Diagnostic cannot_run(const std::string& program, int error) {
  return {ErrorCode::kUsage, program, fmt::format("cannot be started: {}", std::strerror(error)),
          "name a program that is on PATH, or its path"};
}

}  // namespace

Result<Printed> run_program(const std::vector<std::string>& words) {
  std::optional<Pipe> out = make_pipe(), errors = make_pipe();
  if (!out || !errors) return cannot_run(words[0], errno);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, out->write.get(), 1);
  ::posix_spawn_file_actions_adddup2(&actions, errors->write.get(), 2);
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int error =
      ::posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return cannot_run(words[0], error);
  out->write = Descriptor();
  errors->write = Descriptor();
  Printed printed;
  read_both(out->read, printed.out, errors->read, printed.errors);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  printed.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return printed;
}

}  // namespace flopcast::live
