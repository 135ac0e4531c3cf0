#include "live/start/launch/launcher.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/text/numbers.h"
#include "live/wire/socket.h"

extern char** environ;

namespace flopcast::live {
namespace {

constexpr auto kLookAgainAfter = std::chrono::milliseconds(10);

/// Whether a variable is what another launcher, which started this program as one of its processes, has said of that
/// process. The processes of the run are none of that launcher's: they would take its numbers for their own.
bool is_of_outer_launcher(const std::string& name) {
  static const std::map<std::string, std::string> torchrun = rank_environment(0, 1, 1, {}, 0);
  if (name.starts_with("TORCHELASTIC_") || torchrun.contains(name))
    return std::getenv("TORCHELASTIC_RUN_ID") != nullptr;
  return name.starts_with("OMPI_COMM_WORLD_") || name == "PMI_RANK" || name == "PMI_SIZE" ||
         name == "SLURM_PROCID" || name == "SLURM_LOCALID";
}

/// Python draws anew in which order its sets have their texts, unless the caller has chosen.
constexpr const char* kOrderOfSets = "PYTHONHASHSEED";

/// The caller's environment with what is set besides, as exec wants it.
std::vector<std::string> merged(const std::map<std::string, std::string>& set) {
  std::vector<std::string> all;
  if (!std::getenv(kOrderOfSets)) all.push_back(fmt::format("{}=0", kOrderOfSets));
  for (char** at = environ; *at; ++at) {
    const std::string_view line(*at);
    const std::string name(line.substr(0, line.find('=')));
    if (!set.contains(name) && !is_of_outer_launcher(name)) all.emplace_back(line);
  }
  for (const auto& [name, value] : set) all.push_back(fmt::format("{}={}", name, value));
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

Diagnostic cannot_start(const std::string& program, int error) {
  return {ErrorCode::kUsage, program, fmt::format("cannot be started: {}", std::strerror(error)),
          error == ENOENT ? "name a program that is on PATH, or its path" : "see ulimit -u"};
}

/// Processes with this in the environment that they were started with.
std::vector<pid_t> marked(const std::string& mark) {
  std::vector<pid_t> found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename().string();
    const auto pid = parse_whole<pid_t>(name);
    if (!pid) continue;
    std::ifstream file(entry.path() / "environ", std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    if (text.str().find(mark) != std::string::npos) found.push_back(*pid);
  }
  return found;
}

/// Those that went into groups of their own, and what they start meanwhile.
void end_marked(const std::string& mark) {
  constexpr int kMostRounds = 20;
  for (int round = 0; round < kMostRounds && !mark.empty(); ++round) {
    const std::vector<pid_t> left = marked(mark);
    if (left.empty()) return;
    for (const pid_t pid : left) ::kill(pid, SIGKILL);
    std::this_thread::sleep_for(kLookAgainAfter);
  }
}

/// A process that outlives its maker only to end what that has left: killed processes end nothing
/// themselves. It is told of process groups over a pair of sockets, and by 0 that there is nothing left to end.
/// @return our end; none if there is no room for it
Descriptor make_guardian(const std::string& mark) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return Descriptor();
  const pid_t guardian = ::fork();
  if (guardian != 0) {
    ::close(ends[0]);
    if (guardian < 0) ::close(ends[1]);
    return Descriptor(guardian < 0 ? -1 : ends[1]);
  }
  ::setsid();
  const auto own = static_cast<unsigned>(ends[0]);
  if (own > 0) ::close_range(0, own - 1, 0);
  ::close_range(own + 1, ~0U, 0);
  std::vector<pid_t> groups;
  pid_t group = 0;
  while (::read(ends[0], &group, sizeof group) == sizeof group) {
    if (group == 0) ::_exit(0);
    groups.push_back(group);
  }
  for (const pid_t each : groups) ::kill(-each, SIGKILL);
  end_marked(mark);
  ::_exit(0);
}

/// Of the process that is to become the program: what it and its children ask for memory lies at the same addresses in every run,
/// and with it sets of Python's objects in the same order. Where that is not allowed it is not so.
void fix_addresses() {
  constexpr unsigned long kAsItIs = 0xffffffff;
  const int now = ::personality(kAsItIs);
  if (now >= 0)
    static_cast<void>(::personality(static_cast<unsigned long>(now) | ADDR_NO_RANDOMIZE));
}

/// Of the process that is to become the program. A terminal stays with the caller: to read from it would stop a
/// process of another group.
void take_descriptors(const Command& command) {
  for (int i = 0; i < 2; ++i) {
    if (command.output[i] >= 0) ::dup2(command.output[i], i + 1);
  }
  for (const int descriptor : command.inherited) ::fcntl(descriptor, F_SETFD, 0);
  if (::isatty(STDIN_FILENO) == 1) {
    ::close(STDIN_FILENO);
    ::open("/dev/null", O_RDONLY);  // takes the lowest number that is free
  }
}

int status_of(int wait_status) {
  return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

/// A guardian that was killed is no reason to be killed by a signal. @return whether it has been told
bool tell_guardian(const Descriptor& guardian, pid_t group) {
  return ::send(guardian.get(), &group, sizeof group, MSG_NOSIGNAL) == sizeof group;
}

}  // namespace

std::optional<Diagnostic> Launcher::start(const Command& command) {
  const Result<pid_t> child = spawn(command);
  if (!child) return child.error();
  children_.push_back({*child, false, false});
  return std::nullopt;
}

/// A process in a group of its own, which the guardian knows.
Result<pid_t> Launcher::spawn(const Command& command) {
  if (!guardian_) guardian_ = make_guardian(mark_);
  std::vector<std::string> words = command.words, environment = merged(command.environment);
  const std::vector<char*> arguments = pointers(words), variables = pointers(environment);
  // Closes by itself when the program starts; else it brings the reason.
  int report[2];
  if (::pipe2(report, O_CLOEXEC) != 0) return cannot_start(words[0], errno);
  const Descriptor in(report[0]);
  Descriptor out(report[1]);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return cannot_start(words[0], errno);
  if (child == 0) {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    // The caller may take signals in a thread of its own, and block them elsewhere.
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    int error = 0;
    // It tells the guardian itself, before it starts anything: its maker may be killed at any time.
    if (guardian_ && !tell_guardian(guardian_, ::getpid())) error = errno;
    if (error == 0) {
      take_descriptors(command);
      fix_addresses();
      ::environ = const_cast<char**>(variables.data());  // the PATH is that of the run
      ::execvp(arguments[0], arguments.data());
      error = errno;
    }
    if (::write(out.get(), &error, sizeof error) < 0) ::_exit(126);
    ::_exit(127);
  }
  ::setpgid(child, child);
  out = Descriptor();
  int error = 0;
  if (::read(in.get(), &error, sizeof error) == sizeof error) {
    ::waitpid(child, nullptr, 0);
    return cannot_start(words[0], error);
  }
  return child;
}

/// @return whether any process is left
bool Launcher::reap() {
  hear_server();
  for (std::size_t i = 0; i < children_.size(); ++i) {
    Child& child = children_[i];
    int status = 0;
    if (child.ended || child.forked || ::waitpid(child.pid, &status, WNOHANG) != child.pid)
      continue;
    child.ended = true;
    endings_.push_back({i, status_of(status)});
  }
  return running() > 0;
}

std::vector<Ending> Launcher::ended() {
  reap();
  return std::exchange(endings_, {});
}

std::size_t Launcher::running() const {
  return static_cast<std::size_t>(std::count_if(children_.begin(), children_.end(),
                                                [](const Child& child) { return !child.ended; }));
}

void Launcher::end_all(int grace_ms) {
  tell_all(SIGTERM);
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(grace_ms);
  while (reap() && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(kLookAgainAfter);
  tell_all(SIGKILL);
  while (reap()) std::this_thread::sleep_for(kLookAgainAfter);
  if (server_ > 0) ::waitpid(std::exchange(server_, 0), nullptr, 0);
  end_marked(mark_);
}

/// The whole groups: what a process started itself may outlive it.
void Launcher::tell_all(int signal) const {
  for (const Child& child : children_) {
    if (!child.forked) ::kill(-child.pid, signal);
  }
  if (server_ > 0) ::kill(-server_, signal);
}

Launcher::~Launcher() {
  end_all(0);
  if (guardian_) tell_guardian(guardian_, 0);
}

std::map<std::string, std::string> rank_environment(std::uint32_t rank, std::uint32_t ranks,
                                                    std::uint32_t ranks_of_node,
                                                    const std::string& master, std::uint16_t port) {
  const std::uint32_t local = std::min(ranks, ranks_of_node);
  const auto text = [](std::uint32_t number) { return std::to_string(number); };
  return {{"RANK", text(rank)},
          {"LOCAL_RANK", text(rank % local)},
          {"WORLD_SIZE", text(ranks)},
          {"LOCAL_WORLD_SIZE", text(local)},
          {"GROUP_RANK", text(rank / local)},
          {"GROUP_WORLD_SIZE", text((ranks + local - 1) / local)},
          {"ROLE_RANK", text(rank)},
          {"ROLE_WORLD_SIZE", text(ranks)},
          {"ROLE_NAME", "default"},
          {"MASTER_ADDR", master},
          {"MASTER_PORT", text(port)},
          {"TORCHELASTIC_RUN_ID", "flopcast"},
          {"TORCHELASTIC_RESTART_COUNT", "0"},
          {"TORCHELASTIC_MAX_RESTARTS", "0"}};
}

std::map<std::string, std::string> launcher_environment(std::uint32_t node, std::uint32_t nodes,
                                                        std::uint32_t ranks_of_node,
                                                        const std::string& master,
                                                        std::uint16_t port) {
  const auto text = [](std::uint32_t number) { return std::to_string(number); };
  return {{"PET_NNODES", text(nodes)},
          {"PET_NODE_RANK", text(node)},
          {"PET_NPROC_PER_NODE", text(ranks_of_node)},
          {"PET_MASTER_ADDR", master},
          {"PET_MASTER_PORT", text(port)},
          {"NODE_RANK", text(node)},
          {"NNODES", text(nodes)},
          {"SLURM_NODEID", text(node)},
          {"SLURM_NNODES", text(nodes)},
          {"MASTER_ADDR", master},
          {"MASTER_PORT", text(port)}};
}

Result<std::uint16_t> free_port() {
  const Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (!socket || ::bind(socket.get(), any, size) != 0 ||
      ::getsockname(socket.get(), any, &size) != 0) {
    return Diagnostic{ErrorCode::kBadInput, "loopback interface",
                      fmt::format("has no free port: {}", std::strerror(errno)),
                      "free some, or bring it up: ip link set lo up"};
  }
  return ntohs(address.sin_port);
}

}  // namespace flopcast::live
