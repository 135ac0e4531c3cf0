// Programs that know nothing of Flopcast, for tests of the stand-in libraries: each rank is a process that loads them
// and calls them by name, on a simulated cluster.
#pragma once

#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "live/engine/daemon/daemon.h"
#include "live/engine/pricing/cluster_work.h"
#include "live/engine/pricing/device_facts.h"

namespace flopcast::test {

using namespace flopcast::live;

/// The functions of a loaded library, by name.
class Library {
 public:
  explicit Library(const char* path) : handle_(dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
    if (!handle_) std::fprintf(stderr, "%s\n", dlerror());
  }
  template <typename... Arguments>
  int operator()(const char* name, Arguments... arguments) const {
    return reinterpret_cast<int (*)(Arguments...)>(dlsym(handle_, name))(arguments...);
  }
  bool ok() const { return handle_ != nullptr; }

 private:
  void* handle_;
};

struct Size3 {
  unsigned x, y, z;
};

/// What a program told, by name.
using Told = std::map<std::string, double>;

/// Runs a program on the first chip of a cluster.
class LivePrograms : public testing::Test {
 protected:
  using Program = std::function<void(const Library&, Told&, int rank)>;

  Told run(const std::string& on, const std::function<void(const Library&, Told&)>& program) {
    return run_ranks(on, 1, [&](const Library& cuda, Told& said, int) { program(cuda, said); })[0];
  }

  /// Rank i on chip i.
  std::vector<Told> run_ranks(const std::string& on, int ranks, const Program& program) {
    std::vector<Child> children;
    EXPECT_EQ(problem_of(on, ranks, program, children), "");
    std::vector<Told> told;
    for (const Child& child : children) told.push_back(result_of(child));
    return told;
  }

  /// Why such a run ends early; its processes are killed then.
  std::string problem_of(const std::string& on, int ranks, const Program& program) {
    std::vector<Child> children;
    const std::string problem = problem_of(on, ranks, program, children);
    for (const Child& child : children) {
      kill(child.pid, SIGKILL);
      close(child.out);
      waitpid(child.pid, nullptr, 0);
    }
    return problem;
  }

  /// Start, end, place and name of every task of the last run, line by line, in their order.
  const std::vector<std::string>& tasks() const { return tasks_; }

 private:
  struct Child {
    pid_t pid;
    int out;
  };

  /// To the end, or to the first problem.
  std::string problem_of(const std::string& on, int ranks, const Program& program,
                         std::vector<Child>& children) {
    const Result<Cluster> cluster = Catalog::builtin().cluster(on);
    ClusterWork work = std::move(*ClusterWork::make(*cluster, Catalog::builtin()));
    Session session(work);
    const auto daemon = std::move(
        *Daemon::listen(session, {.device = device_facts(cluster->chip),
                                  .devices = static_cast<std::uint32_t>(cluster->chips_per_node()),
                                  .chips = static_cast<std::uint32_t>(cluster->chips())}));
    setenv(kSocketVariable, daemon->name().c_str(), 1);
    for (int rank = 0; rank < ranks; ++rank) daemon->expect(rank);
    for (int rank = 0; rank < ranks; ++rank) children.push_back(start(program, rank));
    tasks_.clear();
    while (daemon->alive() > 0) {
      if (const auto problem = daemon->step()) return problem->text();
      if (std::string deadlock = session.deadlock(); !deadlock.empty()) return deadlock;
      list_tasks(session, session.horizon());
    }
    session.advance();  // what is under way ends, though nobody waits for it
    list_tasks(session, Time::max());
    return {};
  }

  void list_tasks(Session& session, Time before) {
    for (const SettledTask& task : session.run().take_settled(before)) {
      const Processor& where = session.run().processor(task.processor);
      tasks_.push_back(fmt::format("{:15} {:15} {} {} {} {}", task.start.ps, task.end.ps,
                                   where.rank, where.id, static_cast<int>(where.kind),
                                   session.name_of(task.name)));
    }
  }

  static Child start(const Program& program, int rank) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    const pid_t pid = fork();
    if (pid != 0) {
      close(ends[1]);
      return {pid, ends[0]};
    }
    setenv("RANK", std::to_string(rank).c_str(), 1);
    Told told;
    const Library library(FLOPCAST_LIVE_CORE);
    if (!library.ok()) _exit(1);
    program(library, told, rank);
    std::ostringstream text;
    text.precision(17);
    for (const auto& [name, value] : told) text << name << ' ' << value << '\n';
    const std::string all = text.str();
    _exit(write(ends[1], all.data(), all.size()) == static_cast<ssize_t>(all.size()) ? 0 : 1);
  }

  static Told result_of(const Child& child) {
    std::string text(65536, '\0');
    const ssize_t size = read(child.out, text.data(), text.size());
    close(child.out);
    std::istringstream lines(text.substr(0, size > 0 ? static_cast<std::size_t>(size) : 0));
    Told told;
    std::string name;
    for (double value = 0; lines >> name >> value;) told[name] = value;
    int status = 1;
    waitpid(child.pid, &status, 0);
    EXPECT_EQ(status, 0);
    return told;
  }

  std::vector<std::string> tasks_;
};

}  // namespace flopcast::test
