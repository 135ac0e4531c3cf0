// Writes every form of trace file for tests/python/test_written_traces.py, which opens them with
// the tools of others. With FLOPCAST_SAMPLES_DIR set the files stay there; without, they go away
// again.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "flopcast/trace/io.h"
#include "support/sample_run.h"
#include "support/shared_traces.h"
#include "support/temporary_folder.h"
#include "trace/write/sample_traces.h"

namespace flopcast::trace {
namespace {

namespace fs = std::filesystem;

class WrittenSamples : public testing::Test {
 protected:
  fs::path folder() const {
    const char* named = std::getenv("FLOPCAST_SAMPLES_DIR");
    return named != nullptr ? fs::path(named) : own_.path();
  }

  // NAME.json.gz and NAME.pftrace
  void write_both(const std::vector<fs::path>& inputs, const std::string& name) {
    ReadOptions options;
    options.keep_python = true;
    const Result<TraceSet> set = read_traces(inputs, options);
    ASSERT_TRUE(set.ok()) << set.error().text();
    const Result<std::uint64_t> kineto = write_kineto(*set, folder() / (name + ".json.gz"));
    ASSERT_TRUE(kineto.ok()) << kineto.error().text();
    const Result<std::uint64_t> perfetto = write_perfetto(*set, folder() / (name + ".pftrace"));
    ASSERT_TRUE(perfetto.ok()) << perfetto.error().text();
  }

 private:
  test::TemporaryFolder own_;
};

TEST_F(WrittenSamples, Small) {
  std::vector<fs::path> inputs;
  for (int rank = 0; rank < 2; ++rank) {
    inputs.push_back(folder() / ("small_rank" + std::to_string(rank) + ".in.json"));
    test::write_text(inputs.back(), test::small_trace_json(rank));
    write_both({inputs.back()}, "small_rank" + std::to_string(rank));
  }
  write_both(inputs, "small_merged");
}

TEST_F(WrittenSamples, MadeUp) {
  std::vector<fs::path> inputs;
  for (int rank = 0; rank < 3; ++rank) {
    const std::string name = "sample_rank" + std::to_string(rank);
    inputs.push_back(folder() / (name + ".in.json.gz"));
    fs::copy_file(test::sample_run() / (name + ".json.gz"), inputs.back());
    write_both({inputs.back()}, name);
  }
  write_both(inputs, "sample_merged");
}

TEST_F(WrittenSamples, Recorded) {
  FLOPCAST_SHARED_OR_SKIP(traces, "traces");
  const std::pair<const char*, const char*> samples[] = {
      {"megatron_rank0", "megatron_tp8_a100/kineto_rank0.json.gz"},
      {"megatron_rank1", "megatron_tp8_a100/kineto_rank1.json.gz"},
      {"nanogpt_rank3", "nanogpt_8xh100/rank3.json.gz"},
      {"alexnet", "cuda_sync_small/alexnet_a100.json.gz"},
      {"graph_decode", "graph_decode_8xh200/rank0.json.gz"},
      {"mi300", "single_gpu_h100_mi300/mi300_gaunernst_bert-small-uncased__1016001.json.gz"},
  };
  for (const auto& [name, file] : samples) write_both({traces / file}, name);
  const fs::path nanogpt = traces / "nanogpt_8xh100";
  write_both({nanogpt / "rank0.json.gz", nanogpt / "rank1.json.gz", nanogpt / "rank2.json.gz"},
             "nanogpt_merged");
}

}  // namespace
}  // namespace flopcast::trace
