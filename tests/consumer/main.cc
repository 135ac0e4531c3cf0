#include <flopcast/analytic.h>

#include <cstdio>

int main() {
  const auto catalog = flopcast::Catalog::load();
  const auto cluster = catalog->cluster("4 x dgx-h100");
  const auto model = flopcast::load_model("llama-3-8b");
  const auto forecaster = flopcast::TrainingModel::make(*model, *cluster, *catalog);

  flopcast::Plan plan;
  plan.tp = 8, plan.dp = 4, plan.global_batch = 256;
  const auto step = forecaster->estimate(plan);
  if (!step) return std::puts(step.error().text().c_str()), 1;
  std::printf("%.2f s a step, MFU %.1f %%\n", step->step.value, step->mfu * 100);
}
