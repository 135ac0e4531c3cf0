#include "live/operators/operator.h"

#include "live/operators/innermost.h"

namespace flopcast::live {
namespace {

thread_local std::vector<Operator> operators_under_way;

}  // namespace

const Operator* innermost_operator() {
  return operators_under_way.empty() ? nullptr : &operators_under_way.back();
}

}  // namespace flopcast::live

using namespace flopcast::live;

void flopcast_operator_begin(const char* name, const FlopcastTensor* inputs, std::size_t count) {
  operators_under_way.push_back({name, {inputs, count}});
}

void flopcast_operator_end(const FlopcastTensor*, std::size_t) {
  if (!operators_under_way.empty()) operators_under_way.pop_back();
}
