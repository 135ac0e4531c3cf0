// Traces that the tests of the writers share.
#pragma once

#include <string>
#include <string_view>

#include "flopcast/trace.h"

namespace flopcast::test {

/// One rank with a row of every kind that carries arguments: ops, launches, kernels on two streams
/// that overlap, a copy, a collective and its wait, a stream wait, annotations, a flow, odd names.
/// `rank` shifts all times by 10 us.
inline std::string small_trace_json(int rank) {
  static constexpr std::string_view kText = R"json({"schemaVersion":1,
"deviceProperties":[{"id":0,"name":"Tesla \"V\"","totalGlobalMem":34079899648,"numSms":80}],
"distributedInfo":{"backend":"nccl","rank":%,"world_size":2},
"baseTimeNanoseconds":1759300074000000000,"traceEvents":[
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":75,"tid":75,"ts":@.125,"dur":100.5,"args":{
 "External id":3,"Record function id":7,"Sequence number":11,"Fwd thread id":1,
 "Input Dims":[[2, 3], [3, 4]],"Input type":["float", "float"],"Concrete Inputs":["", ""]}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":75,"tid":75,"ts":@.250,"dur":10,
 "args":{"External id":3,"correlation":21}},
{"ph":"X","cat":"kernel","name":"gemm<\"\u00e9\", 'x'>","pid":0,"tid":7,"ts":@.500,"dur":50.001,
 "args":{"device":0,"stream":7,"correlation":21,"blocks per SM":0.8,"grid":[32,2,1],"block":[128,1,1],
 "graph node id":5}},
{"ph":"X","cat":"kernel","name":"early","pid":0,"tid":7,"ts":@.700,"dur":60,
 "args":{"device":0,"stream":7,"correlation":22,"grid":[1,1,1],"block":[1,1,1]}},
{"ph":"X","cat":"cuda_driver","name":"cuLaunchKernel","pid":75,"tid":75,"ts":@.600,"dur":1,
 "args":{"correlation":22}},
{"ph":"X","cat":"cpu_op","name":"record_param_comms","pid":75,"tid":75,"ts":@.800,"dur":2,"args":{
 "External id":4,"Collective name":"allreduce","dtype":"Half","Process Group Name":"0",
 "Process Group Description":"default_pg","Process Group Ranks":"[0, 1]","Group size":2,
 "In msg nelems":64,"Out msg nelems":64,"Seq":9}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernelExC","pid":75,"tid":75,"ts":@.810,"dur":1,
 "args":{"correlation":23}},
{"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce_Sum_f16_RING_LL","pid":0,"tid":23,
 "ts":@.900,"dur":40,"args":{"device":0,"stream":23,"correlation":23,"Collective name":"allreduce",
 "dtype":"Half","In msg nelems":64,"Out msg nelems":64,"Group size":2,"Process Group Ranks":"[0, 1]",
 "grid":[24,1,1],"block":[544,1,1]}},
{"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD (Pinned -> Device)","pid":0,"tid":7,"ts":@.999,
 "dur":0,"args":{"device":0,"stream":7,"correlation":24,"bytes":4096}},
{"ph":"X","cat":"cuda_sync","name":"Stream Wait Event","pid":0,"tid":7,"ts":@.910,"dur":0.5,"args":{
 "cuda_sync_kind":"Stream Wait Event","stream":7,"wait_on_stream":23,"correlation":25,"device":0,
 "wait_on_cuda_event_record_corr_id":-1,"wait_on_cuda_event_id":3}},
{"ph":"X","cat":"user_annotation","name":"ProfilerStep#5","pid":75,"tid":75,"ts":@.001,"dur":200,
 "args":{"External id":1}},
{"ph":"X","cat":"gpu_user_annotation","name":"nccl:all_reduce","pid":0,"tid":23,"ts":@.900,"dur":40,
 "args":{"External id":4}},
{"ph":"X","cat":"Trace","name":"PyTorch Profiler (0)","pid":"Spans","tid":"PyTorch Profiler",
 "ts":@.000,"dur":300},
{"ph":"X","cat":"overhead","name":"Unrecognized","pid":-1,"tid":0,"ts":@.100,"dur":1},
{"ph":"s","id":1,"pid":75,"tid":75,"ts":@.125,"cat":"fwdbwd","name":"fwdbwd"},
{"ph":"f","id":1,"pid":75,"tid":75,"ts":@.800,"cat":"fwdbwd","name":"fwdbwd","bp":"e"},
{"ph":"M","name":"process_name","pid":75,"tid":0,"args":{"name":"python"}},
{"ph":"M","name":"thread_name","pid":75,"tid":75,"args":{"name":"thread 75 (python)"}},
{"ph":"M","name":"thread_name","pid":0,"tid":7,"args":{"name":"stream 7 "}},
{"ph":"i","s":"g","pid":"","tid":"","name":"Record Window End","ts":@.999}]})json";
  std::string out;
  for (const char c : kText) {
    if (c == '@') {
      out += std::to_string(1000 + 10 * rank);
    } else if (c == '%') {
      out += std::to_string(rank);
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace flopcast::test
