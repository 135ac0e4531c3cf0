// What a run's session takes, as blocks of a file.
#include <array>
#include <protozero/pbf_writer.hpp>
#include <unordered_map>
#include <utility>

#include "base/files/output_file.h"
#include "base/pack/columns.h"
#include "live/engine/capture/capture.h"
#include "live/engine/capture/layout.h"

namespace flopcast::live {
namespace {

using protozero::pbf_writer;

template <typename Tag>
constexpr protozero::pbf_tag_type tag(Tag of) {
  return static_cast<protozero::pbf_tag_type>(of);
}

std::string facts_block(const CaptureFacts& facts) {
  std::string bytes;
  pbf_writer out(bytes);
  out.add_string(tag(Fact::kCluster), facts.cluster);
  out.add_string(tag(Fact::kChip), facts.chip);
  out.add_uint32(tag(Fact::kRanks), facts.ranks);
  out.add_uint32(tag(Fact::kChipsPerNode), facts.chips_per_node);
  out.add_uint64(tag(Fact::kMemoryBytes), facts.memory_bytes);
  out.add_string(tag(Fact::kHost), facts.host);
  out.add_double(tag(Fact::kHostFactor), facts.host_factor);
  out.add_string(tag(Fact::kOperators), facts.operators);
  out.add_bool(tag(Fact::kNodesAsCluster), facts.nodes_as_cluster);
  if (facts.folding.alike.empty()) return bytes;
  out.add_string(tag(Fact::kFolding), text_of(facts.folding));
  for (const auto& family : facts.folding.families)
    out.add_string(tag(Fact::kFamily), text_of_groups(family));
  return bytes;
}

std::string ending_block(const LiveReport& ending) {
  std::string bytes;
  pbf_writer out(bytes);
  out.add_int32(tag(Ending::kStatus), ending.status);
  if (ending.failure) {
    out.add_int32(tag(Ending::kFailureRank), ending.failure->rank);
    out.add_int32(tag(Ending::kFailureStatus), ending.failure->status);
    out.add_string(tag(Ending::kFailureLine), ending.failure->last_line);
  }
  out.add_bool(tag(Ending::kStopped), ending.stopped);
  for (const std::string& what : ending.unsupported)
    out.add_string(tag(Ending::kUnsupported), what);
  out.add_uint64(tag(Ending::kTaintedReads), ending.tainted_reads);
  for (const std::string& where : ending.tainted_where)
    out.add_string(tag(Ending::kTaintedWhere), where);
  out.add_uint64(tag(Ending::kAssumed), ending.assumed);
  for (const LiveRank& rank : ending.ranks) {
    out.add_int32(tag(Ending::kMemoryRank), rank.rank);
    out.add_uint64(tag(Ending::kMemoryBytes), rank.most_memory);
  }
  out.add_uint64(tag(Ending::kRestarts), ending.restarts.size());
  for (const std::string& where : ending.values_end) out.add_string(tag(Ending::kValuesEnd), where);
  out.add_uint64(tag(Ending::kOtherLengths), ending.other_lengths);
  return bytes;
}

}  // namespace

struct CaptureWriter::State {
  explicit State(OutputFile to) : file(std::move(to)) {}

  void put(std::string_view message) {
    const std::string frame = compressed(message);
    std::string size(4, '\0');
    for (std::size_t i = 0; i < 4; ++i) size[i] = static_cast<char>(frame.size() >> (8 * i));
    file.write(size);
    file.write(frame);
  }

  void add(const CapturedRow& row) {
    const Record& record = row.record;
    const std::array<std::uint64_t, kColumns> values = {
        static_cast<std::uint64_t>(row.kind),
        row.process,
        row.thread,
        zigzag(static_cast<std::uint64_t>(std::int64_t{row.rank})),
        static_cast<std::uint64_t>(record.act),
        record.flags,
        record.device,
        record.signature,
        zigzag(static_cast<std::uint64_t>(record.gap_ns)),
        record.duration_ns,
        record.number,
        record.stream,
        record.word[0],
        record.word[1],
        record.word[2],
        record.word[3]};
    for (std::size_t i = 0; i < kColumns; ++i) columns[i].push_back(values[i]);
    if (columns[0].size() == kRowsOfBlock) flush();
  }

  void flush() {
    if (columns[0].empty()) return;
    std::string bytes;
    pbf_writer out(bytes);
    for (const std::string* const text : fresh) out.add_string(kText, *text);
    fresh.clear();
    for (std::size_t i = 0; i < kColumns; ++i) {
      const auto column = static_cast<protozero::pbf_tag_type>(i + 1);
      out.add_bytes(column, packed_column(columns[i], coding_of(static_cast<Column>(column))));
      columns[i].clear();
    }
    put(bytes);
  }

  std::uint32_t number_of(std::string_view text) {
    if (text.empty()) return 0;
    const auto [found, made] =
        numbers.try_emplace(std::string(text), static_cast<std::uint32_t>(numbers.size() + 1));
    if (made) fresh.push_back(&found->first);
    return found->second;
  }

  OutputFile file;
  std::array<std::vector<std::uint64_t>, kColumns> columns;
  std::unordered_map<std::string, std::uint32_t> numbers;  ///< of texts
  std::vector<const std::string*> fresh;                   ///< texts that no block has yet
};

CaptureWriter::CaptureWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
CaptureWriter::~CaptureWriter() = default;

Result<std::unique_ptr<CaptureWriter>> CaptureWriter::create(const std::filesystem::path& path,
                                                             const CaptureFacts& facts) {
  Result<OutputFile> file = OutputFile::create(path);
  if (!file) return file.error();
  file->write(kCaptureMagic);
  auto state = std::make_unique<State>(std::move(*file));
  state->put(facts_block(facts));
  return std::unique_ptr<CaptureWriter>(new CaptureWriter(std::move(state)));
}

void CaptureWriter::came(std::int32_t rank) {
  CapturedRow row;
  row.kind = CapturedRow::Kind::kProcess;
  row.rank = rank;
  state_->add(row);
}

void CaptureWriter::took(std::uint32_t process, std::uint32_t thread, const Record& record,
                         std::string_view signature) {
  CapturedRow row;
  row.process = process;
  row.thread = thread;
  row.record = record;
  row.record.signature = state_->number_of(signature);
  state_->add(row);
}

void CaptureWriter::lost(std::uint32_t process) {
  CapturedRow row;
  row.kind = CapturedRow::Kind::kLost;
  row.process = process;
  state_->add(row);
}

void CaptureWriter::stopped(std::uint32_t process, std::uint32_t thread) {
  CapturedRow row;
  row.kind = CapturedRow::Kind::kStopped;
  row.process = process;
  row.thread = thread;
  state_->add(row);
}

void CaptureWriter::answered(const SessionAnswer& answer) {
  CapturedRow row;
  row.kind = CapturedRow::Kind::kAnswer;
  row.process = answer.process;
  row.thread = answer.thread;
  row.record.duration_ns = answer.status;
  row.record.word[0] = answer.value;
  state_->add(row);
}

Result<std::uint64_t> CaptureWriter::commit(const LiveReport& ending) {
  state_->flush();
  state_->put(ending_block(ending));
  return state_->file.commit();
}

}  // namespace flopcast::live
