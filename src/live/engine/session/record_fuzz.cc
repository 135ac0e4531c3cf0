// Records come through memory that the program can write to: any are acted on or refused, and every answer is at a time
// that a run can hold.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "live/engine/session/record_check.h"
#include "live/engine/session/session.h"
#include "support/fuzz_target.h"

namespace {

using namespace flopcast;        // NOLINT(google-build-using-namespace): the subject of the file
using namespace flopcast::live;  // NOLINT(google-build-using-namespace): the same

/// Work of so many microseconds as a record has bytes or blocks; transfers do not meet.
class FuzzedWork final : public Work {
 public:
  Time kernel(const Record& record, std::string_view) override { return time_of(record.word[0]); }
  Time copy(const Record& record) override { return time_of(record.word[0]); }
  Time alone(const Transfer& what) override {
    return time_of(static_cast<std::uint64_t>(what.bytes));
  }
  bool fills_chip(const Record& record, std::string_view) override {
    return record.word[0] % 2 == 1;
  }
  double contention() const override { return 0.2; }
  double straggling() const override { return 0.01; }
  void begin(std::uint64_t transfer, const Transfer& what, Time start) override {
    under_way_.emplace_back(transfer, start + alone(what));
  }
  std::optional<Time> next_end() override {
    if (under_way_.empty()) return std::nullopt;
    return std::min_element(under_way_.begin(), under_way_.end(), ends_first)->second;
  }
  std::vector<std::pair<std::uint64_t, Time>> advance(Time until) override {
    const auto ended = std::stable_partition(under_way_.begin(), under_way_.end(),
                                             [&](const auto& one) { return one.second > until; });
    std::vector<std::pair<std::uint64_t, Time>> all(ended, under_way_.end());
    under_way_.erase(ended, under_way_.end());
    std::sort(all.begin(), all.end(), ends_first);
    return all;
  }

 private:
  static bool ends_first(const std::pair<std::uint64_t, Time>& a,
                         const std::pair<std::uint64_t, Time>& b) {
    return std::pair(a.second, a.first) < std::pair(b.second, b.first);
  }
  static Time time_of(std::uint64_t amount) {
    return Time::from_us(static_cast<std::int64_t>(amount % 1000));
  }
  std::vector<std::pair<std::uint64_t, Time>> under_way_;
};

/// Numbers from the input: small ones are one byte, any others follow the byte 255.
class Numbers {
 public:
  Numbers(const std::uint8_t* data, std::size_t size) : at_(data), end_(data + size) {}
  bool any() const { return at_ != end_; }
  std::uint64_t next() {
    if (!any()) return 0;
    if (*at_ != 255) return *at_++;
    std::uint64_t number = 0;
    const auto left = static_cast<std::size_t>(end_ - ++at_);
    std::memcpy(&number, at_, std::min(left, sizeof number));
    at_ += std::min(left, sizeof number);
    return number;
  }

 private:
  const std::uint8_t* at_;
  const std::uint8_t* end_;
};

Record next_record(Numbers& numbers) {
  Record record;
  const auto act = static_cast<std::uint8_t>(numbers.next());
  std::memcpy(&record.act, &act, sizeof act);
  record.flags = static_cast<std::uint8_t>(numbers.next());
  record.device = static_cast<std::uint16_t>(numbers.next());
  record.gap_ns = static_cast<std::int64_t>(numbers.next());
  record.duration_ns = static_cast<std::uint32_t>(numbers.next());
  record.stream = numbers.next();
  for (std::uint64_t& word : record.word) word = numbers.next();
  // Operations of communicators stand in the upper half.
  if (record.act == Act::kCollective && record.word[1] < 256)
    record.word[1] = (record.word[1] & 15) << 32 | record.word[1] >> 4;
  return record;
}

}  // namespace

FUZZ_TARGET(data, size) {
  constexpr std::uint32_t kProcesses = 3;
  constexpr std::string_view kNames[] = {"", "a", "kernel b"};
  FuzzedWork work;
  Session session(work);
  for (std::uint32_t rank = 0; rank < kProcesses; ++rank)
    session.add_process(static_cast<std::int32_t>(rank));
  std::uint32_t number[kProcesses] = {};
  Numbers numbers(data, size);
  while (numbers.any()) {
    const auto who = static_cast<std::uint32_t>(numbers.next());
    const std::uint32_t process = who % kProcesses;
    Record record = next_record(numbers);
    record.number = number[process]++;
    const std::string_view name = kNames[who / 64 % 3];
    if (session.take(process, who / kProcesses % 4, record, name)) break;
    for (const SessionAnswer& answer : session.advance()) {
      test::check(answer.process < kProcesses && answer.at <= kLastTime + kLongest + kLongest);
    }
    session.take_settled(session.horizon());
  }
  static_cast<void>(session.deadlock());
  session.take_settled(Time::max());
  return 0;
}
