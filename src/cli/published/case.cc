#include "cli/published/case.h"

#include <utility>

namespace flopcast::cli {
namespace {

constexpr std::int64_t kPaperBatch = 4096;

}  // namespace

Result<PaperStrategy> paper_strategy(std::string_view text) {
  if (const auto known = parse_paper_strategy(text)) return *known;
  return Diagnostic{ErrorCode::kUsage, std::string(text), "no such strategy", "1d, 2d or summa"};
}

Result<PaperCase> paper_case(const std::string& model, std::int64_t global_batch,
                             const PaperOptions& options) {
  Result<PaperModel> known_model = paper_model(model);
  if (!known_model) return known_model.error();
  Result<PaperSystem> system = paper_system(options.system);
  if (!system) return system.error();
  const Result<PaperStrategy> strategy = paper_strategy(options.strategy);
  if (!strategy) return strategy.error();
  const Result<PaperDefects> defects = parse_paper_defects(options.defects);
  if (!defects) return defects.error();
  return PaperCase{std::move(*known_model), std::move(*system), *strategy,
                   global_batch == 0 ? kPaperBatch : global_batch, *defects};
}

}  // namespace flopcast::cli
