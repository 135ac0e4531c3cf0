#include "whatif/durations/recorded_work.h"

#include <algorithm>
#include <map>
#include <utility>

#include "whatif/change/stretch.h"

namespace flopcast::whatif {

using namespace replaying;

std::vector<RankWork> find_work(const TraceSet& set, const Recording& recording) {
  const NameFacts facts(set);
  std::vector<std::optional<RankWork>> found(recording.ranks.size());
  parallel_for(found.size(), 0, [&](std::size_t i) {
    Tokens numbers;
    const auto r = static_cast<std::uint32_t>(i);
    found[i].emplace(RankWork{make_program(set, facts, recording, r, numbers),
                              TaskOperators(set, recording.ranks[i])});
  });
  std::vector<RankWork> work;
  for (std::optional<RankWork>& rank : found) work.push_back(std::move(*rank));
  return work;
}

std::optional<Gemm> gemm_of(const RecordedKernel& kernel) {
  const auto found = operator_kernel(kernel.operation, kernel.inputs, kernel.name);
  if (!found || !std::holds_alternative<Gemm>(*found)) return std::nullopt;
  return std::get<Gemm>(*found);
}

std::int64_t count_tokens(const ChangedRun& run, const std::vector<RankWork>& ranks) {
  std::map<std::int64_t, double> rows;
  for (std::uint32_t r = 0; r < ranks.size(); ++r) {
    for (const Work& work : ranks[r].program.works) {
      if (work.pass != Pass::kForward || work.kind != KernelKind::kGemm) continue;
      const std::optional<Gemm> gemm = gemm_of(ranks[r].operators.kernel(work.task));
      if (!gemm || gemm->batch != 1 || gemm->m < 2) continue;
      rows[gemm->m] += gpu_time(run.durations.ranks[r], work.task).seconds();
    }
  }
  const auto most = std::max_element(
      rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == rows.end() ? 0 : most->first;
}

}  // namespace flopcast::whatif
