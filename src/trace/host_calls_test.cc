#include <gtest/gtest.h>

#include <map>

#include "flopcast/trace.h"

namespace flopcast {
namespace {

TEST(HostCalls, AreToldByName) {
  const std::map<std::string, CallKind> kinds = {
      {"cudaEventRecord", CallKind::kRecord},
      {"hipEventRecord", CallKind::kRecord},
      {"cudaEventRecordWithFlags", CallKind::kRecord},
      {"cudaStreamWaitEvent", CallKind::kWaitEvent},
      {"hipDeviceSynchronize", CallKind::kDeviceSync},
      {"cudaFree", CallKind::kDeviceSync},
      {"cudaFreeHost", CallKind::kOther},
      {"cudaStreamSynchronize", CallKind::kStreamSync},
      {"cudaEventSynchronize", CallKind::kEventSync},
      {"cudaMemcpyAsync", CallKind::kCopy},
      {"cudaMalloc", CallKind::kOther},
      {"cudaLaunchKernel", CallKind::kOther},
  };
  for (const auto& [name, kind] : kinds) EXPECT_EQ(call_kind(name), kind) << name;
  EXPECT_TRUE(is_sync(call_kind("cudaFree")));
  EXPECT_FALSE(is_sync(call_kind("cudaMemcpyAsync")));
  EXPECT_TRUE(is_submitting_call("cudaGraphLaunch"));
  EXPECT_TRUE(is_submitting_call("cudaMemsetAsync"));
  EXPECT_FALSE(is_submitting_call("cudaStreamSynchronize"));
  EXPECT_TRUE(is_polling_call("cudaEventQuery"));
  EXPECT_FALSE(is_polling_call("cudaEventRecord"));
}

}  // namespace
}  // namespace flopcast
