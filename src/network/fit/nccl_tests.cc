#include "network/fit/nccl_tests.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <optional>
#include <set>

#include "base/text/numbers.h"
#include "flopcast/hardware.h"
#include "network/collective/systems.h"
#include "network/fit/rank_count.h"

namespace flopcast::network {
namespace {

constexpr std::int64_t kMostRanks = 1 << 24;

/// Words between blanks.
std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (std::size_t at = line.find_first_not_of(" \t\r"); at != line.npos;) {
    const std::size_t end = std::min(line.find_first_of(" \t\r", at), line.size());
    words.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(" \t\r", end);
  }
  return words;
}

bool is_header(std::string_view line) {
  return line.find(" size ") != line.npos && line.find(" algbw ") != line.npos &&
         line.find(" busbw ") != line.npos;
}

/// "[0]" where a launcher writes so before every piece that a rank prints; empty: none does.
std::string_view glued_mark(std::string_view line) {
  const std::size_t end = line.starts_with('[') ? line.find(']') : line.npos;
  return end != line.npos && parse_whole(line.substr(1, end - 1)) ? line.substr(0, end + 1)
                                                                  : std::string_view();
}

/// "[1,0]<stdout>:" of Open MPI, "0: " of srun, "[0]" of Hydra: what a launcher writes before every line, and the last
/// within lines too. `kept` holds a line that is another without it.
std::string_view without_launcher(std::string_view line, std::string& kept) {
  if (const std::string_view glued = glued_mark(line); !glued.empty()) {
    kept.clear();
    for (std::size_t at = 0; at < line.size();) {
      const std::size_t next = std::min(line.find(glued, at), line.size());
      kept += line.substr(at, next - at);
      at = next + glued.size();
    }
    return kept;
  }
  const std::size_t mark = line.find(">:");
  if (line.starts_with('[') && mark != line.npos) return line.substr(mark + 2);
  const std::size_t colon = line.find(": ");
  if (colon != line.npos && colon > 0 && colon < 8 && parse_whole(line.substr(0, colon))) {
    return line.substr(colon + 2);
  }
  return line;
}

/// "all_reduce" of ".../all_reduce_perf_mpi -b 8", empty where the line runs no test.
std::string_view test_of(std::string_view line) {
  const std::size_t end = line.rfind("_perf");  // folders may have it, too
  if (end == line.npos) return {};
  std::size_t begin = end;
  while (begin > 0 && (std::isalnum(static_cast<unsigned char>(line[begin - 1])) != 0 ||
                       line[begin - 1] == '_')) {
    --begin;
  }
  return line.substr(begin, end - begin);
}

/// NCCL's integer version: 23007 is 2.30.7, and 2708 was 2.7.8.
std::string version_of(std::int64_t code) {
  const std::int64_t unit = code >= 10000 ? 10000 : 1000;
  return fmt::format("{}.{}.{}", code / unit, code % unit / 100, code % 100);
}

/// Who runs, as the lines above a table tell.
struct Run {
  std::string test;  ///< "all_reduce"; empty: nobody said
  std::set<std::int64_t> ranks;
  std::set<std::string, std::less<>> hosts;
  std::int64_t told_ranks = 0, told_nodes = 0;   ///< by lines of NCCL_DEBUG=INFO
  std::int64_t last_rank = -1, last_device = 0;  ///< the highest rank that is named, and its device
  std::int64_t per_process = 1;                  ///< chips: threads times GPUs
  std::string chip, library = "NCCL", version = "nccl-tests";
};

class LogReader {
 public:
  LogReader(const std::string& where, Anomalies& anomalies, const RunSize& told)
      : where_(where), anomalies_(anomalies), told_(told) {}

  Result<std::vector<CollectiveSample>> read(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      ++line_;
      std::string kept;
      read_line(without_launcher(text.substr(0, end), kept));
      if (failure_) return *failure_;
      text.remove_prefix(end == text.npos ? text.size() : end + 1);
    }
    close_table();
    if (failure_) return *failure_;
    if (samples_.empty()) {
      return error(
          "no row that can be used",
          "give all that nccl-tests printed, with the command or the line \"# Collective test "
          "starting\", which name the test");
    }
    return std::move(samples_);
  }

 private:
  Diagnostic error(std::string what, std::string hint) const {
    return error_at(line_, std::move(what), std::move(hint));
  }
  Diagnostic error_at(std::size_t line, std::string what, std::string hint) const {
    return {ErrorCode::kBadInput, fmt::format("{}:{}", where_, line), std::move(what),
            std::move(hint)};
  }

  void read_line(std::string_view line) {
    const std::vector<std::string_view> words = words_of(line);
    if (words.empty()) return;
    if (is_header(line)) return read_header(words);
    const bool number = std::isdigit(static_cast<unsigned char>(words[0].front())) != 0;
    if (number && !columns_.empty() && words.size() == columns_.size()) return read_row(words);
    // A row in which a launcher's words stand, or of which a part is missing.
    if (number && !columns_.empty() && parse_whole(words[0]) &&
        2 * words.size() > columns_.size() && parse_whole(words[1])) {
      return anomalies_.add("torn_row", [&] { return fmt::format("{}:{}", where_, line_); });
    }
    read_talk(line, words);
  }

  /// "# nThread 1 nGpus 8 minBytes ...": what one process has.
  void read_process(const std::vector<std::string_view>& words) {
    std::int64_t chips = 1;
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
      if (words[i] != "nThread" && words[i] != "nGpus") continue;
      const std::int64_t count = parse_whole(words[i + 1]).value_or(1);
      if (count > 0 && count <= kMostRanks / chips) chips *= count;
    }
    run_.per_process = chips;
  }

  void read_talk(std::string_view line, const std::vector<std::string_view>& words) {
    if (line.find("# nThread ") != line.npos) {
      begin_run();
      read_process(words);
    }
    const std::string_view test = test_of(line);
    if (!test.empty()) {
      if (!columns_.empty()) begin_run();
      run_.test = test;
    }
    read_version(line, words);
    const auto told = [&](std::string_view key, std::int64_t& value) {
      const auto found = std::ranges::find(words, key);
      if (found == words.end() || found + 1 == words.end()) return;
      value = std::max(value, parse_whole(*(found + 1)).value_or(0));
    };
    if (line.find("ncclCommInitRank") != line.npos || line.find("Init COMPLETE") != line.npos) {
      told("nranks", run_.told_ranks);
      told("nRanks", run_.told_ranks);
      told("nNodes", run_.told_nodes);
    }
    read_device(line, words);
  }

  void begin_run() {
    Run next;
    if (columns_.empty()) next.test = run_.test;
    next.library = run_.library;
    next.version = run_.version;
    close_table();
    run_ = std::move(next);
  }

  void read_version(std::string_view line, const std::vector<std::string_view>& words) {
    for (const std::string_view library : {"NCCL", "RCCL"}) {
      const std::string mark = fmt::format("{} version ", library);
      const std::size_t at = line.find(mark);
      if (at == line.npos) continue;
      const std::string_view rest = line.substr(at + mark.size());
      run_.library = library;
      run_.version = rest.substr(0, rest.find_first_not_of("0123456789."));
    }
    for (const std::string_view word : words) {
      constexpr std::string_view kCode = "nccl-library=";
      if (!word.starts_with(kCode)) continue;
      const auto code = parse_whole(word.substr(kCode.size()));
      if (code && *code >= 1000) run_.version = version_of(*code);
    }
    if (line.find("rccl-tests") != line.npos) run_.library = "RCCL";
  }

  /// "#  Rank  0 Group  0 Pid  371 on host device  0 [0x0f] NVIDIA A100-SXM4-40GB"
  void read_device(std::string_view line, const std::vector<std::string_view>& words) {
    const auto rank = std::ranges::find(words, "Rank");
    const auto on = std::ranges::find(words, "on");
    const std::size_t bracket = line.find("] ");
    if (rank == words.end() || words.end() - rank < 2 || on == words.end() ||
        words.end() - on < 2 || bracket == line.npos) {
      return;
    }
    const auto index = parse_whole(*(rank + 1));
    if (!index || !columns_.empty()) return;
    run_.ranks.insert(*index);
    run_.hosts.emplace(*(on + 1));
    const auto device = std::ranges::find(words, "device");
    if (*index > run_.last_rank) {
      run_.last_rank = *index;
      run_.last_device = words.end() - device < 2 ? 0 : parse_whole(*(device + 1)).value_or(0);
    }
    const std::vector<std::string_view> chip = words_of(line.substr(bracket + 2));
    run_.chip = fmt::format("{}", fmt::join(chip, " "));
  }

  void read_header(const std::vector<std::string_view>& words) {
    close_table();
    header_ = line_;
    for (const std::string_view word : words) {
      if (word != "#") columns_.push_back(word == "#size" ? "size" : std::string(word));
    }
  }

  /// As the lines above the table tell; below 2: they do not. Lines of some ranks may be missing.
  std::int64_t told_ranks() const {
    return std::max(
        {static_cast<std::int64_t>(run_.ranks.size()), run_.told_ranks, run_.last_rank + 1});
  }

  /// By hand, else as the lines above tell where the bandwidths allow it, else as those tell; -1 where both tell all and
  /// contradict each other.
  std::int64_t ranks_of(CollectiveOp op) {
    if (told_.ranks > 0) return told_.ranks;
    const std::int64_t told = told_ranks();
    const std::optional<RankCount::Range> range = count_.of(op);
    if (!range || (told >= 2 && range->holds(told))) return told;
    if (range->is_one()) {
      const bool all_named = told >= 2 && run_.ranks.size() == static_cast<std::size_t>(told);
      return all_named ? -1 : range->least;
    }
    if (told < 2 && range->is_narrow()) several_ = *range;
    return told;
  }

  /// Nodes of so many ranks; 0: nothing tells.
  std::int64_t nodes_of(std::int64_t ranks) const {
    if (told_.nodes > 0) return told_.nodes;
    if (run_.told_nodes > 0) return run_.told_nodes;
    const auto hosts = static_cast<std::int64_t>(run_.hosts.size());
    const bool all_named = static_cast<std::int64_t>(run_.ranks.size()) == ranks;
    if (hosts > 0 && all_named) return hosts;
    // Of the last rank the device tells how many a node has; of a process its chips.
    std::int64_t in_node = run_.per_process;
    if (run_.last_rank + 1 == ranks) in_node = std::max(in_node, run_.last_device + 1);
    if (in_node > 1 && ranks % in_node == 0) return std::max(hosts, ranks / in_node);
    constexpr std::int64_t kUsualNode = 8;
    return ranks <= kUsualNode ? std::max<std::int64_t>(hosts, 1) : 0;
  }

  std::string_view field(const std::vector<std::string_view>& words,
                         std::string_view column) const {
    const auto found = std::ranges::find(columns_, column);
    return found == columns_.end() ? std::string_view()
                                   : words[static_cast<std::size_t>(found - columns_.begin())];
  }

  /// Where no line names the test: what is reduced, whether there is a root, and how the two bandwidths
  /// of the fastest row relate tell most of them apart.
  std::optional<CollectiveOp> guess() const {
    if (fastest_.algorithm < 1 || fastest_.reduced.empty()) return std::nullopt;
    const bool reduces = fastest_.reduced != "none";
    if (fastest_.rooted) return reduces ? CollectiveOp::kReduce : CollectiveOp::kBroadcast;
    if (!reduces) return std::nullopt;  // all-gather and all-to-all look the same
    return fastest_.bus > 0.97 * fastest_.algorithm ? CollectiveOp::kAllReduce
                                                    : CollectiveOp::kReduceScatter;
  }

  void fail_at_header(std::string what, std::string hint) {
    if (!failure_) failure_ = error_at(header_, std::move(what), std::move(hint));
  }

  /// Why a table's ranks or nodes are not known; nothing where they are.
  bool size_known(std::int64_t ranks, std::int64_t nodes) {
    if (ranks < 2) {
      fail_at_header(
          several_ ? fmt::format("nothing above this table tells how many ranks took part, and its "
                                 "bandwidths may be of {} to {}",
                                 several_->least, several_->most)
                   : "nothing above this table tells how many ranks took part",
          "keep the lines \"#  Rank ...\" that nccl-tests prints before it, or give --ranks");
    } else if (nodes == 0) {
      fail_at_header(fmt::format("{} ranks took part, and nothing tells on how many nodes", ranks),
                     "keep the lines \"#  Rank ...\" that nccl-tests prints before it, or give "
                     "--nodes");
    }
    return !failure_;
  }

  /// Rows wait for the end of their table, by when the test is known or never will be.
  void close_table() {
    const std::optional<CollectiveOp> op =
        run_.test.empty() ? guess() : parse_collective_op(run_.test);
    if (!op && !rows_.empty()) {
      anomalies_.add(
          "unknown_collective",
          [&] {
            return fmt::format("{}:{}: {}", where_, header_,
                               run_.test.empty() ? "no test is named" : run_.test);
          },
          rows_.size());
    }
    if (op && !rows_.empty()) keep_rows(*op);
    rows_.clear();
    columns_.clear();
    fastest_ = {};
    count_ = {};
    several_.reset();
  }

  void keep_rows(CollectiveOp op) {
    const std::int64_t ranks = ranks_of(op);
    if (ranks < 0) {
      return anomalies_.add(
          "ranks_unlike_bandwidths", [&] { return fmt::format("{}:{}", where_, header_); },
          rows_.size());
    }
    const std::int64_t nodes = nodes_of(ranks);
    if (!size_known(ranks, nodes)) return;
    if (ranks > kMostRanks || nodes > ranks) {
      return anomalies_.add(
          "impossible_ranks", [&] { return fmt::format("{}:{}", where_, header_); }, rows_.size());
    }
    for (CollectiveSample& sample : rows_) {
      sample.what.op = op;
      sample.what.ranks = static_cast<unsigned>(ranks);
      sample.what.nodes = static_cast<unsigned>(nodes);
      samples_.push_back(std::move(sample));
    }
  }

  void read_row(const std::vector<std::string_view>& words) {
    const auto place = [&] { return fmt::format("{}:{}", where_, line_); };
    const auto size = parse_number(field(words, "size"));
    const auto time = parse_number(field(words, "time"));
    if (!size || !time) return anomalies_.add("not_a_number", place);
    if (!(*size > 0 && *time > 0)) return anomalies_.add("not_positive", place);
    // Who computed something else took another time for it. ("N/A": nobody looked.)
    if (parse_number(field(words, "#wrong")).value_or(0) != 0)
      return anomalies_.add("wrong_results", place);
    const double algorithm = parse_number(field(words, "algbw")).value_or(0);
    if (algorithm >= fastest_.algorithm) {
      fastest_ = {algorithm, parse_number(field(words, "busbw")).value_or(0),
                  parse_whole(field(words, "root")).value_or(-1) >= 0,
                  std::string(field(words, "redop"))};
    }
    count_.add(*size, field(words, "time"), field(words, "algbw"), field(words, "busbw"));
    rows_.push_back(sample_of(*size, *time, field(words, "type")));
  }

  CollectiveSample sample_of(double bytes, double microseconds, std::string_view type) const {
    CollectiveSample sample;
    sample.what.type = type;
    sample.what.library = run_.library;
    sample.what.version = run_.version;
    sample.size = {bytes};
    sample.time = {microseconds * 1e-6};
    const Result<Chip> chip = Catalog::builtin().chip(run_.chip);
    sample.chip = chip ? chip->name : run_.chip;
    sample.what.system = CollectiveSystems::builtin().name_of(sample.chip, "nccl-tests");
    sample.source = where_;
    return sample;
  }

  struct Fastest {
    double algorithm = 0, bus = 0;  ///< GB/s
    bool rooted = false;
    std::string reduced;
  };

  const std::string& where_;
  Anomalies& anomalies_;
  std::size_t line_ = 0;
  Run run_;
  std::vector<std::string> columns_;              ///< of the table that is open
  std::vector<CollectiveSample> rows_, samples_;  ///< of this table; of those before it
  Fastest fastest_;                               ///< row of this table
  RankCount count_;                               ///< of this table
  std::optional<RankCount::Range> several_;       ///< ranks that its bandwidths allow
  std::size_t header_ = 0;                        ///< its line
  const RunSize& told_;
  std::optional<Diagnostic> failure_;
};

}  // namespace

bool is_nccl_tests(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (is_header(text.substr(0, end))) return true;
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return false;
}

Result<std::vector<CollectiveSample>> parse_nccl_tests(std::string_view text,
                                                       const std::string& where,
                                                       Anomalies& anomalies, const RunSize& told) {
  return LogReader(where, anomalies, told).read(text);
}

}  // namespace flopcast::network
