#include "trace/kineto/files.h"

#include <algorithm>
#include <cctype>
#include <system_error>

#include "base/text/numbers.h"
#include "flopcast/trace.h"
#include "trace/json/document.h"
#include "trace/pack/reader.h"

namespace flopcast {

using namespace trace;  // the room's own names

namespace {

namespace fs = std::filesystem;

/// As far as is looked for what a file is; and for a first row, which tells it and nearly always comes by then.
constexpr std::size_t kLookBytes = std::size_t{64} << 10, kGlanceBytes = std::size_t{8} << 10;

// Stops at the first row: that there is one is all we want to know.
class FirstLook final : public DocumentHandler {
 public:
  Scan on_row(Cursor& cursor) override {
    is_object_ = *cursor.at() == '{';
    cursor.fail("seen enough");
    return Scan::kBad;
  }
  bool wants(std::string_view) override { return false; }
  void on_value(std::string_view, const JsonSlice&) override {}
  bool is_object() const { return is_object_; }

 private:
  bool is_object_ = false;
};

/// Adds to `head` until it has so many bytes, or there are no more.
void read_up_to(ByteSource& source, std::size_t bytes, std::string& head) {
  std::size_t have = head.size();
  head.resize(bytes);
  while (have < head.size()) {
    const std::size_t n = source.read(head.data() + have, head.size() - have);
    if (n == 0) break;
    have += n;
  }
  head.resize(have);
}

DocumentOutcome look_at(const std::string& head, FirstLook& look) {
  const auto memory = memory_source(head);
  return read_document(*memory, look, {head.size() + 1, kLookBytes * 2});
}

bool ends_with_any(std::string_view name, std::initializer_list<std::string_view> endings) {
  return std::any_of(endings.begin(), endings.end(),
                     [name](std::string_view ending) { return name.ends_with(ending); });
}

bool is_named_like_trace(std::string_view name) {
  if (name.starts_with(".")) return false;  // AppleDouble "._x.json" and other hidden files
  return ends_with_any(name, {".json", ".json.gz", ".fcpack"});
}

std::string_view without_endings(std::string_view name) {
  for (const std::string_view ending : {".fcpack", ".gz", ".json", ".trace", ".pt"}) {
    if (name.ends_with(ending)) name.remove_suffix(ending.size());
  }
  return name;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_separator(char c) { return c == '.' || c == '_' || c == '-'; }

/// Where the rank stands in a name: [begin, end) with the word, [digits, end) its number.
struct RankPlace {
  std::size_t begin, digits, end;
};

std::optional<RankPlace> find_rank(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (std::size_t at = lower.rfind("rank"); at != std::string::npos;
       at = at == 0 ? std::string::npos : lower.rfind("rank", at - 1)) {
    std::size_t digits = at + 4;
    if (digits < lower.size() && (is_separator(lower[digits]) || lower[digits] == '=')) ++digits;
    std::size_t end = digits;
    while (end < lower.size() && is_digit(lower[end])) ++end;
    if (end > digits) return RankPlace{at, digits, end};
  }
  return std::nullopt;
}

// torch.profiler.tensorboard_trace_handler writes WORKER.TIMESTAMP.pt.trace.json: one worker is one
// rank, and its k-th timestamp belongs to the k-th recording.
std::optional<std::string> tensorboard_worker(std::string_view name) {
  if (!ends_with_any(name, {".pt.trace.json", ".pt.trace.json.gz"})) return std::nullopt;
  const std::string_view stem = without_endings(name);
  const std::size_t dot = stem.rfind('.');
  if (dot == std::string_view::npos || stem.size() - dot < 11) return std::nullopt;
  if (!std::all_of(stem.begin() + static_cast<std::ptrdiff_t>(dot) + 1, stem.end(), is_digit)) {
    return std::nullopt;
  }
  return std::string(stem.substr(0, dot));
}

void group_tensorboard_files(const std::vector<fs::path>& files, const std::string& label,
                             Runs& runs) {
  std::map<std::string, std::size_t> seen;
  std::map<std::size_t, std::vector<fs::path>> recordings;
  for (const fs::path& file : files) {  // sorted, so a worker's timestamps ascend
    recordings[seen[*tensorboard_worker(file.filename().string())]++].push_back(file);
  }
  for (auto& [number, members] : recordings) {
    const std::string name =
        recordings.size() == 1 ? label : label + "#" + std::to_string(number + 1);
    runs[name] = std::move(members);
  }
}

std::string name_of_directory(const fs::path& directory) {
  std::error_code ignored;
  const fs::path full = fs::weakly_canonical(directory, ignored);
  return full.filename().empty() ? full.parent_path().filename().string()
                                 : full.filename().string();
}

}  // namespace

FileKind trace::kind_of_file(const fs::path& path) {
  if (is_pack(path)) return FileKind::kTrace;
  auto source = file_source(path);
  if (!source) return FileKind::kTrace;
  std::string head;
  read_up_to(**source, kGlanceBytes, head);
  FirstLook glance;
  if (look_at(head, glance).has_events && glance.is_object()) return FileKind::kTrace;
  read_up_to(**source, kLookBytes, head);
  const bool all = head.size() < kLookBytes;
  if (all && (*source)->end() == ByteSource::End::kCorrupt) return FileKind::kTrace;
  FirstLook look;
  const DocumentOutcome seen = look_at(head, look);
  const auto has = [&seen](std::string_view key) {
    return std::find(seen.keys.begin(), seen.keys.end(), key) != seen.keys.end();
  };
  if (seen.has_events) {
    return seen.bare_array && seen.damage && !look.is_object() ? FileKind::kOther
                                                               : FileKind::kTrace;
  }
  if (has("nodes") || has("schema")) return FileKind::kExecution;
  const bool cut = seen.is_json && (seen.damage || !all);
  return cut || seen.utf16 ? FileKind::kTrace : FileKind::kOther;
}

std::optional<std::int32_t> trace::rank_in_name(std::string_view file_name) {
  const std::string_view name = without_endings(file_name);
  const auto place = find_rank(name);
  if (!place) return std::nullopt;
  return parse_whole<std::int32_t>(name.substr(place->digits, place->end - place->digits));
}

std::string trace::run_of_name(std::string_view file_name) {
  std::string name(without_endings(file_name));
  const auto place = find_rank(name);
  if (!place) return name;
  std::size_t begin = place->begin, end = place->end;
  if (name.compare(end, 4, "_of_") == 0) {
    end += 4;
    while (end < name.size() && is_digit(name[end])) ++end;
  }
  while (begin > 0 && is_separator(name[begin - 1])) --begin;
  while (begin == 0 && end < name.size() && is_separator(name[end])) ++end;
  return name.erase(begin, end - begin);
}

Result<DirectoryListing> trace::list_directory(const fs::path& directory) {
  std::error_code error;
  std::vector<fs::path> files;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (!it->is_regular_file(ignored)) continue;
    if (is_named_like_trace(it->path().filename().string())) files.push_back(it->path());
  }
  if (error) {
    return Diagnostic{ErrorCode::kBadInput, directory.string(),
                      "the directory cannot be read: " + error.message(), ""};
  }
  std::sort(files.begin(), files.end());
  DirectoryListing out;
  std::vector<fs::path> tensorboard;
  const std::string label = name_of_directory(directory);
  for (const fs::path& file : files) {
    const std::string name = file.filename().string();
    const FileKind kind = kind_of_file(file);
    if (kind == FileKind::kExecution) {
      ++out.execution_traces;
    } else if (kind == FileKind::kOther) {
      out.unreadable.push_back({ErrorCode::kBadInput, file.string(), "no trace: skipped", ""});
    } else if (fs::file_size(file, error) == 0 || error) {
      out.unreadable.push_back({ErrorCode::kBadInput, file.string(), "empty: skipped", ""});
    } else if (!rank_in_name(name) && tensorboard_worker(name)) {
      tensorboard.push_back(file);
    } else {
      const std::string run = run_of_name(name);
      out.runs[run.empty() ? label : run].push_back(file);
    }
  }
  group_tensorboard_files(tensorboard, label, out.runs);
  return out;
}

Result<std::map<std::string, std::vector<fs::path>>> list_runs(const fs::path& directory) {
  try {
    auto listing = list_directory(directory);
    if (!listing) return listing.error();
    return std::move(listing->runs);
  } catch (const std::exception& failure) {
    return Diagnostic{ErrorCode::kBadInput, directory.string(), failure.what(), ""};
  }
}

}  // namespace flopcast
