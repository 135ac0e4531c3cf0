#include "base/files/output_file.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace flopcast {
namespace {

namespace fs = std::filesystem;

class OutputFiles : public testing::Test {
 protected:
  OutputFiles() {
    std::string name = (fs::temp_directory_path() / "output-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~OutputFiles() override { fs::remove_all(folder_); }

  fs::path at(const std::string& name) const { return folder_ / name; }
  fs::path made(const std::string& name, ::mode_t mode = 0644) const {
    std::ofstream(at(name)) << "old";
    ::chmod(at(name).c_str(), mode);
    return at(name);
  }
  static std::string text_of(const fs::path& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  static ::mode_t mode_of(const fs::path& path) {
    struct ::stat facts {};
    EXPECT_EQ(::stat(path.c_str(), &facts), 0);
    return facts.st_mode & 07777;
  }
  static Result<std::uint64_t> write(const fs::path& path, std::string_view text) {
    Result<OutputFile> file = OutputFile::create(path);
    if (!file) return file.error();
    file->write(text);
    return file->commit();
  }
  std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), {}));
  }

  fs::path folder_;
};

TEST_F(OutputFiles, AppearWholeOrNotAtAll) {
  {
    Result<OutputFile> file = OutputFile::create(at("new"));
    ASSERT_TRUE(file.ok());
    file->write("half");
  }
  EXPECT_EQ(entries(), 0u);
  ASSERT_TRUE(write(at("new"), "whole").ok());
  EXPECT_EQ(text_of(at("new")), "whole");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(OutputFiles, KeepTheModeOfWhatTheyReplace) {
  for (const ::mode_t mode : {0600, 0640, 0660, 0664, 0755}) {
    const fs::path path = made("file", mode);
    ASSERT_TRUE(write(path, "new").ok()) << std::oct << mode;
    EXPECT_EQ(mode_of(path), mode);
    EXPECT_EQ(text_of(path), "new");
    fs::remove(path);
  }
  const ::mode_t mask = ::umask(027);
  ASSERT_TRUE(write(at("fresh"), "new").ok());
  ::umask(mask);
  EXPECT_EQ(mode_of(at("fresh")), 0640u);
}

TEST_F(OutputFiles, ReadOnlyOnesAreLeftAsTheyAre) {
  for (const ::mode_t mode : {0444, 0400, 0555, 0000}) {
    const fs::path path = made("file", mode);
    const Result<std::uint64_t> written = write(path, "new");
    ASSERT_FALSE(written.ok()) << std::oct << mode;
    EXPECT_NE(written.error().text().find("read-only"), std::string::npos);
    EXPECT_NE(written.error().text().find(path.string()), std::string::npos);
    EXPECT_EQ(mode_of(path), mode);
    ::chmod(path.c_str(), 0600);
    EXPECT_EQ(text_of(path), "old");
    fs::remove(path);
  }
}

TEST_F(OutputFiles, ALinkStaysAndItsTargetKeepsItsMode) {
  const fs::path target = made("target", 0640);
  fs::create_symlink("target", at("link"));
  ASSERT_TRUE(write(at("link"), "new").ok());
  EXPECT_TRUE(fs::is_symlink(at("link")));
  EXPECT_EQ(text_of(target), "new");
  EXPECT_EQ(mode_of(target), 0640u);
}

TEST_F(OutputFiles, AKilledWriterLeavesNothing) {
  const fs::path path = made("file");
  const ::pid_t child = ::fork();
  if (child == 0) {
    Result<OutputFile> file = OutputFile::create(path);
    if (file.ok()) file->write("half");
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(text_of(path), "old");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(OutputFiles, PartsOfTheDeadAreRemovedAfterADay) {
  const ::pid_t dead = ::fork();
  if (dead == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(dead, nullptr, 0), dead);
  const auto part = [&](const std::string& name, ::pid_t process, int number, int hours) {
    const std::string whole =
        name + "." + std::to_string(process) + "-" + std::to_string(number) + ".part";
    fs::last_write_time(made(whole), fs::file_time_type::clock::now() - std::chrono::hours(hours));
    return at(whole);
  };
  const fs::path stale = part("a", dead, 0, 25);
  const std::vector<fs::path> kept = {part("a", dead, 1, 1), part("a", ::getpid(), 0, 25),
                                      part("b", dead, 0, 25), part("a.a", dead, 0, 25)};
  made("a.notes.part");
  remove_stale_parts(at("a"));
  EXPECT_FALSE(fs::exists(stale));
  for (const fs::path& path : kept) EXPECT_TRUE(fs::exists(path)) << path;
  EXPECT_TRUE(fs::exists(at("a.notes.part")));
}

}  // namespace
}  // namespace flopcast
