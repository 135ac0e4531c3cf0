// Deployments as the tests of iterations and of memory want them.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "flopcast/serving.h"

namespace flopcast::serving::test {

inline Deployment deployment(const std::string& model, const std::string& cluster,
                             const std::string& precision, ServingLayout layout,
                             ServingEngine engine = ServingEngine::kVllm) {
  const Result<Model> loaded = load_model(model);
  EXPECT_TRUE(loaded) << model;
  const Result<Cluster> chips = Catalog::builtin().cluster(cluster);
  EXPECT_TRUE(chips) << cluster;
  Deployment d;
  d.model = *loaded;
  d.cluster = *chips;
  d.layout = layout;
  const Result<ServingPrecision> types = serving_precision(precision, d.model);
  EXPECT_TRUE(types) << precision;
  d.precision = *types;
  d.settings.engine = engine;
  for (std::int64_t size = 1; size <= 512; size *= 2) d.settings.graphs.push_back(size);
  return d;
}

}  // namespace flopcast::serving::test
