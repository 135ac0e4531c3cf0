#include "trace/kineto/jobs.h"

namespace flopcast::trace {

namespace fs = std::filesystem;

Jobs jobs_of(const std::vector<fs::path>& files, unsigned threads) {
  Jobs jobs;
  jobs.packs.reserve(files.size());
  for (const fs::path& file : files) {
    jobs.packs.emplace_back();
    if (!is_pack(file)) {
      jobs.list.push_back({file});
      continue;
    }
    auto pack = PackFile::open(file);
    if (!pack) {
      jobs.unreadable.push_back(pack.error());
      continue;
    }
    jobs.packs.back().emplace(std::move(*pack));
    const PackFile& opened = *jobs.packs.back();
    for (std::size_t member = 0; member < opened.index().members.size(); ++member) {
      jobs.list.push_back({file, &opened, member});
    }
  }
  // Several files are read side by side; a file alone has its blocks unpacked so.
  for (Job& job : jobs.list) job.threads = jobs.list.size() > 1 ? 1 : threads;
  return jobs;
}

Diagnostic nothing_read(const std::vector<Diagnostic>& failures) {
  Diagnostic first = failures.front();
  if (failures.size() > 1) {
    first.what += "; and " + std::to_string(failures.size() - 1) + " more files could not be read";
  }
  return first;
}

}  // namespace flopcast::trace
