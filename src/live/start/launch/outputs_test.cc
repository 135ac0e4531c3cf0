#include "live/start/launch/outputs.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "support/temporary_folder.h"

namespace flopcast::live {
namespace {

class LiveOutputsThreads : public testing::Test {
 protected:
  void SetUp() override {
    for (int i = 0; i < 2; ++i) {
      paths_[i] = (folder_ / (i == 0 ? "out" : "err")).string();
      files_[i] = Descriptor(::open(paths_[i].c_str(), O_CREAT | O_RDWR, 0600));
    }
    auto made = Outputs::make(3, {files_[0].get(), files_[1].get()});
    ASSERT_TRUE(made);
    outputs_ = std::move(*made);
    for (std::size_t p = 0; p < 3; ++p) {
      for (const int s : {0, 1}) ends_.emplace_back(::dup(outputs_->end_of(p, s)));
    }
    outputs_->all_started();
  }
  void say(std::size_t process, int stream, std::string_view text) {
    const int end = ends_[2 * process + static_cast<std::size_t>(stream)].get();
    ASSERT_EQ(::write(end, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  std::string finished(int stream) {
    ends_.clear();
    outputs_->finish();
    return test::read_text(paths_[stream]);
  }

  test::TemporaryFolder folder_;
  std::string paths_[2];
  Descriptor files_[2];
  std::unique_ptr<Outputs> outputs_;
  std::vector<Descriptor> ends_;
};

TEST_F(LiveOutputsThreads, LinesOfSeveralProcessesStayWhole) {
  for (int round = 0; round < 200; ++round) {
    for (std::size_t p = 0; p < 3; ++p) {
      say(p, 0, "rank ");
      say(p, 0, std::string(1, static_cast<char>('0' + p)));
      say(p, 0, " says this\n");
    }
  }
  std::istringstream lines(finished(0));
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    EXPECT_TRUE(line.starts_with("rank ") && line.ends_with(" says this") && line.size() == 16)
        << line;
  }
  EXPECT_EQ(count, 600);
}

TEST_F(LiveOutputsThreads, WhatHasNoEndIsPassedOnToo) {
  say(1, 0, "no end");
  EXPECT_EQ(finished(0), "no end");
}

TEST_F(LiveOutputsThreads, StreamsStayApartAndTheLastLineIsKept) {
  say(0, 0, "result\n");
  say(2, 1, "Traceback\n");
  say(2, 1, "ValueError: no\n\n");
  EXPECT_EQ(finished(0), "result\n");
  EXPECT_EQ(test::read_text(paths_[1]), "Traceback\nValueError: no\n\n");
  EXPECT_EQ(outputs_->last_line(2), "ValueError: no");
  EXPECT_EQ(outputs_->last_line(0), "");
}

TEST_F(LiveOutputsThreads, WhatWasJustWrittenIsTheLastLine) {
  for (int i = 0; i < 500; ++i) {
    const std::string line = "line " + std::to_string(i);
    say(1, 1, line + "\n");
    ASSERT_EQ(outputs_->last_line(1), line);
  }
}

TEST_F(LiveOutputsThreads, WhatALibraryRemarksOnIsNoReason) {
  say(0, 1, "[rank1]: ValueError: no\n[rank1]:[W1129 02:03:47.004 Group.cpp:170] not finalized\n");
  say(1, 1, "[W1129 02:03:47.004 Group.cpp:170] alone\n");
  say(2, 1, "[W1129 02:03:47.004 Group.cpp:170] first\n[Worker 7] failed\n");
  finished(1);
  EXPECT_EQ(outputs_->last_line(0), "[rank1]: ValueError: no");
  EXPECT_EQ(outputs_->last_line(1), "[W1129 02:03:47.004 Group.cpp:170] alone");
  EXPECT_EQ(outputs_->last_line(2), "[Worker 7] failed");
}

TEST_F(LiveOutputsThreads, MoreThanAPipeHoldsComesWhole) {
  const std::string line(5'000'000, 'x');
  std::thread writer([&] {
    std::string_view left = line;
    while (!left.empty()) {
      const ssize_t written = ::write(ends_[0].get(), left.data(), left.size());
      ASSERT_GT(written, 0);
      left.remove_prefix(static_cast<std::size_t>(written));
    }
  });
  writer.join();
  EXPECT_EQ(finished(0), line);
}

}  // namespace
}  // namespace flopcast::live
