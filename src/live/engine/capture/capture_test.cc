#include "live/engine/capture/capture.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "live/engine/capture/resolve.h"
#include "support/mesh_program.h"
#include "support/plain_work.h"
#include "support/session_script.h"
#include "support/temporary_folder.h"

namespace flopcast::live {
namespace {

using namespace test;  // scripts, folders

/// Kernels and transfers take so many times what PlainWork says.
class SlowerWork final : public Work {
 public:
  explicit SlowerWork(std::int64_t times) : times_(times) {}
  Time kernel(const Record& record, std::string_view name) override {
    return Time{plain_.kernel(record, name).ps * times_};
  }
  Time copy(const Record& record) override { return Time{plain_.copy(record).ps * times_}; }
  void begin(std::uint64_t transfer, const Transfer& what, Time start) override {
    Transfer longer = what;
    longer.bytes *= times_;
    plain_.begin(transfer, longer, start);
  }
  std::optional<Time> next_end() override { return plain_.next_end(); }
  std::vector<std::pair<std::uint64_t, Time>> advance(Time until) override {
    return plain_.advance(until);
  }

 private:
  PlainWork plain_;
  std::int64_t times_ = 1;
};

/// Where, what and when, in no order.
using Tasks = std::vector<std::tuple<std::int32_t, std::int64_t, std::string, Time, Time>>;
Tasks tasks_of(Session& session) {
  session.advance();
  Tasks tasks;
  for (const ToldTask& told : session.take_settled(Time::max())) {
    const Processor& on = session.run().processor(told.task.processor);
    tasks.emplace_back(on.rank, on.id, std::string(session.name_of(told.task.name)),
                       told.task.start, told.task.end);
  }
  std::sort(tasks.begin(), tasks.end());
  return tasks;
}

CaptureFacts any_facts() {
  return {.cluster = "dgx-h100",
          .chip = "h100-sxm",
          .ranks = 3,
          .chips_per_node = 8,
          .memory_bytes = 80,
          .host = "a table",
          .host_factor = 0.5};
}

/// The session says what it hears to a file.
class Capturing {
 public:
  explicit Capturing(Session& session, const CaptureFacts& facts = any_facts())
      : session_(session) {
    auto writer = CaptureWriter::create(path(), facts);
    RC_ASSERT(static_cast<bool>(writer));
    writer_ = std::move(*writer);
    session_.set_listener(writer_.get());
  }
  std::string path() const { return (folder_.path() / "run.fccap").string(); }
  std::string bytes() {
    session_.set_listener(nullptr);
    LiveReport ending;
    ending.status = 3;
    ending.failure = LiveFailure{1, 3, "no more"};
    ending.ranks.resize(1);
    ending.ranks[0].rank = 2;
    ending.ranks[0].most_memory = 77;
    RC_ASSERT(static_cast<bool>(writer_->commit(ending)));
    return read_text(path());
  }

 private:
  Session& session_;
  TemporaryFolder folder_;
  std::unique_ptr<CaptureWriter> writer_;
};

Script without_questions(Script script) {
  for (auto& one : script) {
    std::erase_if(one, [](const Record& record) { return record.act == Act::kAskEvent; });
  }
  return script;
}

RC_GTEST_PROP(LiveCaptureProperty, ToldAgainItIsTheRunBitForBit, ()) {
  const Script script = any_script();
  std::mt19937 random(*rc::gen::arbitrary<unsigned>());
  PlainWork work;
  Session session(work, kTimes);
  Capturing capturing(session);
  play(script, session, random);
  const Tasks expected = tasks_of(session);
  const Result<Capture> capture = parse_capture(capturing.bytes(), "run.fccap");
  RC_ASSERT(static_cast<bool>(capture));
  PlainWork same;
  Session again(same, kTimes);
  const Result<Retold> retold = retell(*capture, again, [] {});
  RC_ASSERT(static_cast<bool>(retold));
  RC_ASSERT(retold->differs == 0u);
  RC_ASSERT(tasks_of(again) == expected);
}

RC_GTEST_PROP(LiveCaptureProperty, OnOtherWorkItIsAFreshRunThere, ()) {
  const Script script = without_questions(any_script());
  const std::int64_t slower = *rc::gen::inRange(2, 50);
  std::mt19937 random(*rc::gen::arbitrary<unsigned>());
  PlainWork work;
  Session session(work, kTimes);
  Capturing capturing(session);
  play(script, session, random);
  const Result<Capture> capture = parse_capture(capturing.bytes(), "run.fccap");
  RC_ASSERT(static_cast<bool>(capture));
  SlowerWork slow(slower), slow_too(slower);
  Session fresh(slow, kTimes), again(slow_too, kTimes);
  play(script, fresh, random);
  RC_ASSERT(static_cast<bool>(retell(*capture, again, [] {})));
  RC_ASSERT(tasks_of(again) == tasks_of(fresh));
}

CaptureFacts facts_of(const Folding& folding) {
  CaptureFacts facts = any_facts();
  facts.ranks = static_cast<std::uint32_t>(folding.alike.size());
  facts.folding = folding;
  return facts;
}

/// A folded run, kept.
Result<Capture> capture_of(const MeshProgram& program, const Folding& folding, Session& session,
                           std::mt19937& random) {
  session.set_folding(folding);
  Capturing capturing(session, facts_of(folding));
  MeshPlay(program, folding).run(session, random);
  return parse_capture(capturing.bytes(), "run.fccap");
}

RC_GTEST_PROP(LiveCaptureProperty, AFoldedRunToldAgainIsItBitForBit, ()) {
  const MeshProgram program;
  const Folding folding = program.folding();
  std::mt19937 random(*rc::gen::arbitrary<unsigned>());
  PlainWork work, same;
  Session session(work, kTimes), again(same, kTimes);
  const Result<Capture> capture = capture_of(program, folding, session, random);
  RC_ASSERT(static_cast<bool>(capture));
  again.set_folding(capture->facts.folding);
  const Result<Retold> retold = retell(*capture, again, [] {});
  RC_ASSERT(static_cast<bool>(retold));
  RC_ASSERT(retold->differs == 0u);
  RC_ASSERT(tasks_of(again) == tasks_of(session));
}

RC_GTEST_PROP(LiveCaptureProperty, AFoldedRunOnOtherWorkIsAFreshFoldedRunThere, ()) {
  const MeshProgram program;
  const Folding folding = program.folding();
  const std::int64_t slower = pick<std::int64_t>(2, 50);
  std::mt19937 random(*rc::gen::arbitrary<unsigned>());
  PlainWork work;
  Session session(work, kTimes);
  const Result<Capture> capture = capture_of(program, folding, session, random);
  RC_ASSERT(static_cast<bool>(capture));
  SlowerWork slow(slower), slow_too(slower);
  Session fresh(slow, kTimes), again(slow_too, kTimes);
  fresh.set_folding(folding);
  MeshPlay(program, folding).run(fresh, random);
  again.set_folding(capture->facts.folding);
  RC_ASSERT(static_cast<bool>(retell(*capture, again, [] {})));
  RC_ASSERT(tasks_of(again) == tasks_of(fresh));
}

/// Kept with that folding, though ranks 0 and 3 have come.
Result<Capture> kept_as(const Folding& folding) {
  PlainWork work;
  Session session(work, kTimes);
  Capturing capturing(session, facts_of(folding));
  for (const std::int32_t rank : {0, 3}) session.add_process(rank);
  return parse_capture(capturing.bytes(), "run.fccap");
}

TEST(LiveCapture, KeepsWhoIsAlikeAndWhoIsThere) {
  Folding folding = of_one_kind(4, {0, 3});
  folding.families = {{{0, 1}, {2, 3}}, {{0, 2}, {1, 3}}};
  const Result<Capture> capture = kept_as(folding);
  ASSERT_TRUE(capture);
  EXPECT_EQ(capture->facts.folding.alike, folding.alike);
  EXPECT_EQ(capture->facts.folding.there, folding.there);
  EXPECT_EQ(capture->facts.folding.families, folding.families);
}

TEST(LiveCapture, RanksThatCannotStandForOthersAreRefused) {
  const auto refused = [](const std::function<void(Folding&)>& damage) {
    Folding folding = of_one_kind(4, {0, 3});
    folding.families = {{{0, 1}, {2, 3}}};
    damage(folding);
    const Result<Capture> capture = kept_as(folding);
    ASSERT_FALSE(capture);
    EXPECT_NE(capture.error().text().find("of ranks that are alike what cannot be"),
              std::string::npos);
  };
  refused([](Folding& folding) { folding.there[3] = false; });       // it has come
  refused([](Folding& folding) { folding.alike[1] = 1; });           // nobody is there for it
  refused([](Folding& folding) { folding.families[0][0][1] = 4; });  // no rank of the run
  refused([](Folding& folding) { folding.families[0][0][1] = 3; });  // in two groups of a family
  refused([](Folding& folding) { folding.families[0].clear(); });
}

TEST(LiveCapture, TheOlderFormatOfWholeRunsIsRead) {
  PlainWork work;
  Session session(work, kTimes);
  Capturing capturing(session);
  session.add_process(0);
  std::string bytes = capturing.bytes();
  ASSERT_EQ(bytes.substr(0, 8), "FCCAP002");
  bytes[7] = '1';
  const Result<Capture> older = parse_capture(bytes, "run.fccap");
  ASSERT_TRUE(older);
  EXPECT_EQ(older->rows.size(), 1u);
  bytes[7] = '3';
  const Result<Capture> newer = parse_capture(bytes, "run.fccap");
  ASSERT_FALSE(newer);
  EXPECT_NE(newer.error().text().find("of another version"), std::string::npos);
}

TEST(LiveCapture, AQuestionThatWouldBeAnsweredOtherwiseIsCounted) {
  Script script(1);
  script[0] = {kernel(1, 3), with_event(Act::kRecordEvent, 1, 1), call(Act::kMark, 50),
               with_event(Act::kAskEvent, 1)};
  std::mt19937 random(1);
  PlainWork work;
  Session session(work, kTimes);
  Capturing capturing(session);
  play(script, session, random);
  const Result<Capture> capture = parse_capture(capturing.bytes(), "run.fccap");
  ASSERT_TRUE(capture);
  SlowerWork slow(1000);
  Session again(slow, kTimes);
  const Result<Retold> retold = retell(*capture, again, [] {});
  ASSERT_TRUE(retold);
  EXPECT_EQ(retold->asked, 1u);
  EXPECT_EQ(retold->differs, 1u);
  EXPECT_EQ(retold->first, "rank 0 asked whether its GPU had done something");
}

TEST(LiveCapture, ThreadsThatWakeEachOtherDoSoAgain) {
  // Thread 1 is made by thread 0, which waits for it without being heard to say so.
  Record start = call(Act::kThreadStart), woken = call(Act::kWoken), sleep = call(Act::kSleep);
  start.word[0] = 0, start.word[1] = 1, start.word[3] = 1025;
  sleep.flags = kAnswerWanted;
  sleep.word[0] = 1'000'000;
  woken.word[0] = 1, woken.word[1] = 4;
  const std::vector<std::pair<std::uint32_t, Record>> said = {
      {0, call(Act::kMark)}, {1, start}, {1, kernel(4, 10)}, {1, sleep},
      {1, call(Act::kMark)}, {0, woken}, {0, kernel(4, 20)}, {0, wait_device()}};
  PlainWork work;
  Session session(work, kTimes);
  Capturing capturing(session);
  session.add_process(0);
  std::uint32_t number = 0;
  for (auto [thread, record] : said) {
    record.number = number++;
    ASSERT_FALSE(session.take(0, thread, record, "k"));
    if (record.act == Act::kSleep) session.stand_still(0, 0);
    session.advance();
  }
  const Tasks expected = tasks_of(session);
  const Result<Capture> capture = parse_capture(capturing.bytes(), "run.fccap");
  ASSERT_TRUE(capture);
  PlainWork same;
  Session again(same, kTimes);
  ASSERT_TRUE(retell(*capture, again, [] {}));
  EXPECT_EQ(tasks_of(again), expected);
}

TEST(LiveCapture, KeepsWhatNoTaskSays) {
  PlainWork work;
  Session session(work, kTimes);
  Capturing capturing(session);
  session.add_process(0);
  const Result<Capture> capture = parse_capture(capturing.bytes(), "run.fccap");
  ASSERT_TRUE(capture);
  EXPECT_EQ(capture->facts.cluster, "dgx-h100");
  EXPECT_EQ(capture->facts.host, "a table");
  EXPECT_EQ(capture->facts.host_factor, 0.5);
  EXPECT_EQ(capture->facts.chips_per_node, 8u);
  EXPECT_EQ(capture->ending.status, 3);
  ASSERT_TRUE(capture->ending.failure);
  EXPECT_EQ(capture->ending.failure->last_line, "no more");
  ASSERT_EQ(capture->ending.ranks.size(), 1u);
  EXPECT_EQ(capture->ending.ranks[0].most_memory, 77u);
}

bool same(const Capture& one, const Capture& other) {
  return one.texts == other.texts &&
         std::equal(one.rows.begin(), one.rows.end(), other.rows.begin(), other.rows.end(),
                    [](const CapturedRow& a, const CapturedRow& b) {
                      return std::tie(a.kind, a.process, a.thread, a.rank) ==
                                 std::tie(b.kind, b.process, b.thread, b.rank) &&
                             std::memcmp(&a.record, &b.record, sizeof(Record)) == 0;
                    });
}

RC_GTEST_PROP(LiveCaptureProperty, WhatIsDamagedIsRefused, ()) {
  const Script script = any_script();
  std::mt19937 random(*rc::gen::arbitrary<unsigned>());
  PlainWork work;
  Session session(work, kTimes);
  Capturing capturing(session);
  play(script, session, random);
  const std::string whole = capturing.bytes();
  const auto at = *rc::gen::inRange<std::size_t>(0, whole.size());
  const Result<Capture> cut = parse_capture(std::string_view(whole).substr(0, at), "run.fccap");
  RC_ASSERT(!cut);
  std::string flipped = whole;
  flipped[at] = static_cast<char>(flipped[at] ^ (1 << *rc::gen::inRange(0, 8)));
  // A frame has a bit that nobody looks at.
  const Result<Capture> read = parse_capture(flipped, "run.fccap");
  const bool harmless = !read || same(*read, *parse_capture(whole, "run.fccap"));
  RC_ASSERT(harmless);
}

}  // namespace
}  // namespace flopcast::live
