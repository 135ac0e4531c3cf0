// cuBLASLt: descriptions of products that programs fill in attribute by attribute, and the products.
#include <cstring>
#include <map>
#include <vector>

#include "live/standin/api/api.h"
#include "live/standin/math/blas.h"

namespace flopcast::live {
namespace {

/// cublasStatus_t
constexpr int kLtSuccess = 0, kLtInvalidValue = 7;
/// cublasLtMatrixLayoutAttribute_t, cublasLtMatmulDescAttributes_t
enum LayoutAttribute : int { kType = 0, kRows = 2, kColumns = 3, kBatch = 5 };
enum ProductAttribute : int { kCompute = 0, kTransposeA = 3 };

/// What a description holds: bytes by attribute.
class Description {
 public:
  int set(int attribute, const void* value, std::size_t bytes) {
    if (!value) return kLtInvalidValue;
    const auto* begin = static_cast<const unsigned char*>(value);
    values_[attribute].assign(begin, begin + bytes);
    return kLtSuccess;
  }
  int get(int attribute, void* value, std::size_t bytes, std::size_t* written) const {
    const auto found = values_.find(attribute);
    const std::size_t known = found == values_.end() ? 0 : found->second.size();
    if (written) *written = known == 0 ? bytes : known;
    if (!value) return kLtSuccess;
    std::memset(value, 0, bytes);
    if (known > 0) std::memcpy(value, found->second.data(), known < bytes ? known : bytes);
    return kLtSuccess;
  }
  template <typename T>
  T value(int attribute) const {
    T value{};
    get(attribute, &value, sizeof value, nullptr);
    return value;
  }
  template <typename T>
  void set(int attribute, T value) {
    set(attribute, &value, sizeof value);
  }

 private:
  std::map<int, std::vector<unsigned char>> values_;
};

Description& description(void* object) { return *static_cast<Description*>(object); }

int drop(void* object) {
  delete static_cast<Description*>(object);
  return kLtSuccess;
}

/// cublasLtMatmulHeuristicResult_t
struct Heuristic {
  std::uint64_t algorithm[8];
  std::size_t workspace;
  int status;
  float waves;
  int reserved[4];
};
static_assert(sizeof(Heuristic) == 96);

}  // namespace
}  // namespace flopcast::live

using namespace flopcast::live;

FLOPCAST_API int cublasLtCreate(void** handle) {
  *handle = new Description;
  return kLtSuccess;
}
FLOPCAST_API int cublasLtDestroy(void* handle) { return drop(handle); }

FLOPCAST_API int cublasLtMatmulDescCreate(void** product, int compute, int scale) {
  auto* const made = new Description;
  made->set<int>(kCompute, compute);
  made->set<int>(1, scale);
  *product = made;
  return kLtSuccess;
}
FLOPCAST_API int cublasLtMatmulDescDestroy(void* product) { return drop(product); }
FLOPCAST_API int cublasLtMatmulDescSetAttribute(void* product, int attribute, const void* value,
                                                std::size_t bytes) {
  return description(product).set(attribute, value, bytes);
}
FLOPCAST_API int cublasLtMatmulDescGetAttribute(void* product, int attribute, void* value,
                                                std::size_t bytes, std::size_t* written) {
  return description(product).get(attribute, value, bytes, written);
}

FLOPCAST_API int cublasLtMatrixLayoutCreate(void** layout, int type, std::uint64_t rows,
                                            std::uint64_t columns, std::int64_t leading) {
  auto* const made = new Description;
  made->set<int>(kType, type);
  made->set<std::uint64_t>(kRows, rows);
  made->set<std::uint64_t>(kColumns, columns);
  made->set<std::int64_t>(4, leading);
  made->set<int>(kBatch, 1);
  *layout = made;
  return kLtSuccess;
}
FLOPCAST_API int cublasLtMatrixLayoutDestroy(void* layout) { return drop(layout); }
FLOPCAST_API int cublasLtMatrixLayoutSetAttribute(void* layout, int attribute, const void* value,
                                                  std::size_t bytes) {
  return description(layout).set(attribute, value, bytes);
}
FLOPCAST_API int cublasLtMatrixLayoutGetAttribute(void* layout, int attribute, void* value,
                                                  std::size_t bytes, std::size_t* written) {
  return description(layout).get(attribute, value, bytes, written);
}

FLOPCAST_API int cublasLtMatmulPreferenceCreate(void** preference) {
  *preference = new Description;
  return kLtSuccess;
}
FLOPCAST_API int cublasLtMatmulPreferenceDestroy(void* preference) { return drop(preference); }
FLOPCAST_API int cublasLtMatmulPreferenceSetAttribute(void* preference, int attribute,
                                                      const void* value, std::size_t bytes) {
  return description(preference).set(attribute, value, bytes);
}

/// One algorithm, which needs no workspace: it is not run.
FLOPCAST_API int cublasLtMatmulAlgoGetHeuristic(void*, void*, void*, void*, void*, void*, void*,
                                                int asked, void* results, int* found) {
  *found = asked > 0 ? 1 : 0;
  if (asked > 0) *static_cast<Heuristic*>(results) = {};
  return kLtSuccess;
}

FLOPCAST_API int cublasLtMatmul(void*, void* product, const void*, const void*, void* a,
                                const void*, void*, const void*, const void*, void*, void*, void* d,
                                const void*, void*, std::size_t, void* stream) {
  const Description &left = description(a), &result = description(d);
  const bool transposed = description(product).value<int>(kTransposeA) != 0;
  const auto inner = left.value<std::uint64_t>(transposed ? kRows : kColumns);
  const char* const type =
      gemm_type_word(left.value<int>(kType), description(product).value<int>(kCompute));
  return multiply(stream, "cublasLtMatmul", type,
                  static_cast<std::int64_t>(result.value<std::uint64_t>(kRows)),
                  static_cast<std::int64_t>(result.value<std::uint64_t>(kColumns)),
                  static_cast<std::int64_t>(inner), left.value<int>(kBatch));
}
