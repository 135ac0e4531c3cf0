#include "live/start/launch/launcher.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

#include "support/temporary_folder.h"

namespace flopcast::live {
namespace {

Command shell(const std::string& script) { return {{"sh", "-c", script}, {}}; }

std::vector<Ending> all_ended(Launcher& launcher) {
  std::vector<Ending> all;
  while (launcher.running() > 0) {
    for (const Ending& one : launcher.ended()) all.push_back(one);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  for (const Ending& one : launcher.ended()) all.push_back(one);
  return all;
}

/// Whether a process of this number is there and no zombie.
bool alive(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string stat;
  std::getline(file, stat);
  const std::size_t name_ends = stat.rfind(')');  // "1234 (name) S ..."
  return name_ends != std::string::npos && stat.compare(name_ends, 3, ") Z") != 0;
}

/// Waits for it, a minute at the most: a busy machine is slow to tell.
bool ends(pid_t process) {
  for (int i = 0; i < 6000 && alive(process); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return !alive(process);
}

TEST(LiveLauncherThreads, TellsHowProcessesEnd) {
  Launcher launcher;
  EXPECT_FALSE(launcher.start(shell("exit 3")));
  EXPECT_FALSE(launcher.start(shell("kill -9 $$")));
  std::map<std::size_t, int> status;
  for (const Ending& one : all_ended(launcher)) status[one.process] = one.status;
  EXPECT_EQ(status, (std::map<std::size_t, int>{{0, 3}, {1, 137}}));
}

TEST(LiveLauncherThreads, SetsTheEnvironmentOverTheCallers) {
  setenv("RANK", "99", 1);
  test::TemporaryFolder folder;
  Launcher launcher;
  Command command =
      shell("echo $RANK $LOCAL_RANK $WORLD_SIZE $GROUP_RANK > " + (folder / "said").string());
  command.environment = rank_environment(11, 16, 8, "127.0.0.1", 1234);
  EXPECT_FALSE(launcher.start(command));
  all_ended(launcher);
  EXPECT_EQ(test::read_text(folder / "said"), "11 3 16 1\n");
  unsetenv("RANK");
}

/// What a shell that the launcher starts finds of these variables.
std::string found_in_shell(const std::string& variables,
                           const std::map<std::string, std::string>& set) {
  test::TemporaryFolder folder;
  Launcher launcher;
  Command command = shell("echo " + variables + " > " + (folder / "said").string());
  command.environment = set;
  EXPECT_FALSE(launcher.start(command));
  all_ended(launcher);
  return test::read_text(folder / "said");
}

TEST(LiveLauncherThreads, NumbersOfALauncherThatStartedTheRunAreNotItsRanks) {
  const std::map<std::string, std::string> outer = {{"SLURM_PROCID", "3"},
                                                    {"SLURM_LOCALID", "1"},
                                                    {"SLURM_JOB_ID", "77"},
                                                    {"OMPI_COMM_WORLD_RANK", "3"},
                                                    {"PMI_RANK", "3"},
                                                    {"RANK", "3"},
                                                    {"TORCHELASTIC_USE_AGENT_STORE", "True"}};
  for (const auto& [name, value] : outer) setenv(name.c_str(), value.c_str(), 1);
  const std::string variables =
      "$SLURM_PROCID/$SLURM_LOCALID/$SLURM_JOB_ID/$OMPI_COMM_WORLD_RANK/$PMI_RANK/$RANK/"
      "$TORCHELASTIC_USE_AGENT_STORE";
  // Without torchrun, who says RANK means the program.
  EXPECT_EQ(found_in_shell(variables, {}), "//77///3/True\n");
  setenv("TORCHELASTIC_RUN_ID", "outer", 1);
  EXPECT_EQ(found_in_shell(variables, {}), "//77////\n");
  EXPECT_EQ(found_in_shell(variables, {{"RANK", "5"}}), "//77///5/\n");
  for (const auto& [name, value] : outer) unsetenv(name.c_str());
  unsetenv("TORCHELASTIC_RUN_ID");
}

TEST(LiveLauncherThreads, AProgramThatIsNotThereIsNamed) {
  Launcher launcher;
  const auto problem = launcher.start({{"no-such-program-anywhere"}, {}});
  ASSERT_TRUE(problem);
  EXPECT_NE(problem->text().find("no-such-program-anywhere"), std::string::npos);
  EXPECT_EQ(launcher.running(), 0u);
}

TEST(LiveLauncherThreads, EndsProcessesAndWhatTheyStarted) {
  test::TemporaryFolder folder;
  Launcher launcher;
  // Heeds no polite request, and has a child.
  EXPECT_FALSE(launcher.start(shell("trap '' TERM; sleep 1000 & echo $! > " +
                                    (folder / "child").string() + "; while :; do sleep 1; done")));
  while (!std::filesystem::exists(folder / "child") || test::read_text(folder / "child").empty())
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const auto child = static_cast<pid_t>(std::stol(test::read_text(folder / "child")));
  launcher.end_all(50);
  EXPECT_EQ(launcher.running(), 0u);
  EXPECT_TRUE(ends(child));
}

TEST(LiveLauncherThreads, ProcessesEndWhenTheirLauncherIsKilled) {
  test::TemporaryFolder folder;
  const pid_t middle = fork();
  if (middle == 0) {
    Launcher launcher;
    // The shell's own child hears of nothing by itself.
    launcher.start(shell("sleep 1000 & echo $! > " + (folder / "child").string() + "; wait"));
    pause();
  }
  while (!std::filesystem::exists(folder / "child") || test::read_text(folder / "child").empty())
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const auto child = static_cast<pid_t>(std::stol(test::read_text(folder / "child")));
  EXPECT_TRUE(alive(child));
  kill(middle, SIGKILL);
  waitpid(middle, nullptr, 0);
  EXPECT_TRUE(ends(child));
}

/// Killed while it loads, or for want of a module: nobody else may keep the line open on which it would tell of its ranks.
TEST(LiveLauncherThreads, AServerThatEndsBeforeItsRanksAreThereIsSaid) {
  for (const char* script : {"kill -KILL $$", "exit 1"}) {
    Launcher launcher;
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    const auto late = [until] { return std::chrono::steady_clock::now() > until; };
    const auto problem = launcher.serve(shell(script), {"train.py", {}, {}}, {{}, {}}, late);
    ASSERT_TRUE(problem) << script;
    EXPECT_NE(problem->text().find("ended before all ranks were there"), std::string::npos);
    EXPECT_EQ(launcher.running(), 0u);
  }
}

TEST(LiveLauncher, FindsAFreePort) { EXPECT_GT(*free_port(), 1024); }

}  // namespace
}  // namespace flopcast::live
