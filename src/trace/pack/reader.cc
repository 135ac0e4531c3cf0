#include "trace/pack/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <thread>
#include <unordered_set>

#include "trace/pack/block.h"
#include "trace/raw/append.h"
#include "trace/raw/crop.h"

namespace flopcast::trace {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kAgain = "copy it again, or make it again with flopcast trace pack";
constexpr std::string_view kNameOne = "name a pack that flopcast trace pack wrote";

// What the index says of a file, without rows.
RawTrace facts_of(const PackMember& member, bool python) {
  RawTrace raw;
  raw.trace = member.facts.trace;
  raw.base_ns = member.facts.base_ns;
  raw.step_ns = member.facts.step_ns;
  raw.window_end_ns = member.facts.window_end_ns;
  raw.any_phase = true;
  if (!python) return raw;
  raw.step_ns = std::gcd(raw.step_ns, member.python.step_ns);
  for (int c = 0; c < kCategoryCount; ++c) {
    raw.trace.row_counts[c] += member.python.trace.row_counts[c];
  }
  // The facts count all of them, those among them whose times are bad too.
  std::uint64_t& counted = raw.trace.row_counts[static_cast<int>(Category::kPythonFunction)];
  counted -= std::min(counted, member.python.trace.other_rows);
  raw.trace.anomalies.merge(member.python.trace.anomalies);
  return raw;
}

// The place of rows among those of the file: a row of a Python function carries how many others came
// before it, and follows as many of them.
void note_order(const RawTrace& block, bool python, std::uint64_t others,
                std::vector<std::uint64_t>& order) {
  for (std::size_t row = 0; row < block.events(); ++row) {
    order.push_back(python ? 2 * block.order[row] : 2 * (others + row) + 1);
  }
}

// How many rows of others a file has before a block.
std::uint64_t others_before(const PackMember& member, const BlockPlace& place) {
  std::uint64_t rows = 0;
  for (const BlockPlace* block = member.blocks.data(); block != &place; ++block) {
    rows += block->python ? 0 : block->rows;
  }
  return rows;
}

/// Times and correlations, from the first to the last.
struct Span {
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  std::int64_t last = std::numeric_limits<std::int64_t>::min();

  bool meets(std::int64_t from, std::int64_t to) const { return from <= last && to >= first; }
  void add(std::int64_t from, std::int64_t to) {
    first = std::min(first, from);
    last = std::max(last, to);
  }
};

bool is_named(const StepPlace& place, const std::string& name) {
  return place.name == name || place.name == "ProfilerStep#" + name;
}

// Says what steps there are, without reading a row; none where the index has both, or names none at all.
std::optional<Diagnostic> missing_step(const std::vector<StepPlace>& places, const StepRange& steps,
                                       const std::string& path) {
  for (const std::string& wanted : {steps.first, steps.last}) {
    const auto is = [&](const StepPlace& place) { return is_named(place, wanted); };
    if (places.empty() || std::ranges::any_of(places, is)) continue;
    std::string known;
    std::unordered_set<std::string_view> seen;
    for (const StepPlace& place : places) {
      if (seen.insert(place.name).second) known += (known.empty() ? "" : ", ") + place.name;
    }
    return no_such_step(path, wanted, known);
  }
  return std::nullopt;
}

// When the steps ran, on the file's clock and on any of its ranks; all time where the file names none.
Span span_of_steps(const std::vector<StepPlace>& places, const StepRange& steps) {
  Span span;
  std::swap(span.first, span.last);
  Span found[2];
  for (const StepPlace& place : places) {
    std::int64_t end = 0;
    if (__builtin_add_overflow(place.start_ns, place.duration_ns, &end)) return span;
    if (is_named(place, steps.first)) found[0].add(place.start_ns, end);
    if (is_named(place, steps.last)) found[1].add(place.start_ns, end);
  }
  if (found[0].first > found[0].last || found[1].first > found[1].last) return span;
  return {found[0].first, std::max(found[0].last, found[1].last)};
}

}  // namespace

bool is_pack(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error) || error) return false;
  const Result<RandomFile> file = RandomFile::open(path, kNameOne);
  std::string head;
  return file && file->read_at(0, kPackMagic.size(), head) && head == kPackMagic;
}

Diagnostic PackFile::damaged(std::string what) const {
  return {ErrorCode::kBadInput, path_.string(), std::move(what), std::string(kAgain)};
}

Result<PackFile> PackFile::open(const fs::path& path) {
  Result<RandomFile> file = RandomFile::open(path, kNameOne);
  if (!file) return file.error();
  PackFile pack(path, std::move(*file));
  if (auto error = pack.read_index()) return *error;
  return pack;
}

std::optional<Diagnostic> PackFile::read_index() {
  std::string head, tail, index;
  const std::uint64_t size = file_.size();
  if (!file_.read_at(0, kPackHeadBytes, head) || !head.starts_with(kPackMagic)) {
    return Diagnostic{ErrorCode::kBadInput, path_.string(), "is no pack", std::string(kNameOne)};
  }
  if (const auto version = number_at(head, kPackMagic.size(), 4); version != kPackVersion) {
    return Diagnostic{ErrorCode::kBadInput, path_.string(),
                      fmt::format("is a pack of version {}, and this program reads version {}",
                                  version, kPackVersion),
                      "use the flopcast that wrote it, or a newer one"};
  }
  if (size < kPackHeadBytes + kPackTailBytes ||
      !file_.read_at(size - kPackTailBytes, kPackTailBytes, tail) || !tail.ends_with(kPackMagic)) {
    return damaged("is cut short: a pack ends with its index, this file does not");
  }
  const std::uint64_t offset = number_at(tail, 0, 8), bytes = number_at(tail, 8, 8);
  if (bytes > size || !file_.read_at(offset, bytes, index)) {
    return damaged("is damaged: its index is not where its last bytes say");
  }
  auto read = unpacked_index(index);
  if (!read)
    return damaged(fmt::format("is damaged: bad index ({} bytes from {} on)", bytes, offset));
  index_ = std::move(*read);
  if (index_.members.empty()) return damaged("holds no trace");
  return std::nullopt;
}

std::string PackFile::path_of(std::size_t member) const {
  return (path_ / index_.members[member].name).string();
}

// Those of the time asked for, and those that may hold a launch or a GPU row whose partner lies there.
std::vector<const BlockPlace*> PackFile::chosen(const PackMember& member,
                                                const BlockChoice& choice) {
  Span time, correlations;
  std::swap(time.first, time.last);
  if (choice.steps) time = span_of_steps(member.steps, *choice.steps);
  const auto in_time = [&time](const BlockPlace& block) {
    return block.rows == 0 || time.meets(block.first_ns, block.last_ns);
  };
  for (const BlockPlace& block : member.blocks) {
    if (!in_time(block) || block.first_correlation > block.last_correlation) continue;
    correlations.add(block.first_correlation, block.last_correlation);
  }
  std::vector<const BlockPlace*> places;
  for (const BlockPlace& block : member.blocks) {
    const bool partners = block.first_correlation <= block.last_correlation &&
                          correlations.meets(block.first_correlation, block.last_correlation);
    if (block.python && !choice.python) continue;
    if (block.always || partners || in_time(block)) places.push_back(&block);
  }
  return places;
}

std::optional<RawTrace> PackFile::read_block(const BlockPlace& block) const {
  std::string bytes;
  if (block.bytes > file_.size() || !file_.read_at(block.offset, block.bytes, bytes)) {
    return std::nullopt;
  }
  auto raw = unpacked_block(bytes);
  const bool good = raw && raw->events() == block.rows && raw->order.empty() == !block.python;
  return good ? std::move(raw) : std::nullopt;
}

RawTrace PackFile::facts(std::size_t number, const BlockChoice& choice) const {
  RawTrace raw = facts_of(index_.members[number], choice.python);
  raw.trace.path = path_of(number);
  return raw;
}

std::optional<Diagnostic> PackFile::for_each_block(std::size_t number, const BlockChoice& choice,
                                                   const BlockUse& use) const {
  const PackMember& member = index_.members[number];
  const std::vector<const BlockPlace*> places = chosen(member, choice);
  std::uint64_t bytes = 0;
  // A few blocks at a time are unpacked side by side, and used one after the other.
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  const std::size_t wave = choice.threads == 0 ? cores : choice.threads;
  for (std::size_t first = 0; first < places.size(); first += wave) {
    std::vector<std::optional<RawTrace>> blocks(std::min(wave, places.size() - first));
    parallel_for(blocks.size(), choice.threads,
                 [&](std::size_t i) { blocks[i] = read_block(*places[first + i]); });
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const BlockPlace& place = *places[first + i];
      if (!blocks[i]) {
        return damaged(fmt::format("is damaged: block {} of {} ({} bytes from {} on)",
                                   first + i + 1, member.name, place.bytes, place.offset));
      }
      use(place, *blocks[i]);
      blocks[i].reset();
      bytes += place.bytes;
      if (choice.progress) choice.progress(bytes);
    }
  }
  return std::nullopt;
}

Result<RawTrace> PackFile::read(std::size_t number, const BlockChoice& choice) const {
  const PackMember& member = index_.members[number];
  if (choice.steps) {
    if (auto error = missing_step(member.steps, *choice.steps, path_of(number))) return *error;
  }
  RawTrace raw = facts(number, choice);
  std::uint64_t rows = 0;
  bool any_python = false;
  for (const BlockPlace* place : chosen(member, choice)) {
    rows += place->rows;
    any_python |= place->python;
  }
  if (rows > std::numeric_limits<std::uint32_t>::max() - 1) {
    return Diagnostic{ErrorCode::kTooLarge, raw.trace.path, fmt::format("has {} rows", rows),
                      "read a window of it"};
  }
  // What an index claims is believed as far as the file's size goes.
  reserve_rows(raw, std::min<std::uint64_t>(rows, file_.size()));
  std::vector<std::uint64_t> order;
  const auto add = [&](const BlockPlace& place, RawTrace& block) {
    if (any_python) note_order(block, place.python, others_before(member, place), order);
    block.order.clear();
    append_rows(block, raw);
  };
  if (auto error = for_each_block(number, choice, add)) return *error;
  raw.order = std::move(order);
  return raw;
}

}  // namespace flopcast::trace
