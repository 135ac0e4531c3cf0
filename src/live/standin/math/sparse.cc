// cuSPARSE: matrices as they are described, and products with them as the elements that they move or multiply.
#include <algorithm>
#include <cstdint>

#include "live/standin/api/api.h"
#include "live/standin/math/submit.h"
#include "live/standin/shim/stream.h"

namespace flopcast::live {
namespace {

/// A sparse or dense matrix or vector.
struct SparseObject {
  std::int64_t rows = 0, columns = 1;
  std::int64_t filled = 0;  ///< elements that are there
  std::int64_t batch = 1;
  int type = 0;
};
SparseObject& sparse_object(const void* object) {
  return *static_cast<SparseObject*>(const_cast<void*>(object));
}

/// cudaDataType_t
double sparse_element_bytes(int type) {
  return type == 5 ? 16 : type == 1 || type == 4 ? 8 : type == 2 || type == 14 ? 2 : 4;
}

int make_sparse(void** object, SparseObject value) {
  *object = new SparseObject(value);
  return 0;
}
int drop_sparse(const void* object) {
  delete &sparse_object(object);
  return 0;
}
int nothing_to_keep(std::size_t* bytes) {
  *bytes = 0;
  return 0;
}

/// Every element that is there meets a row of the other matrix, which is seldom found twice in a cache.
int submit_sparse(void* handle, const SparseObject& sparse, std::int64_t columns,
                  const SparseObject& result, const char* name) {
  constexpr double kIndexBytes = 4;
  const double element = sparse_element_bytes(sparse.type);
  const auto filled = static_cast<double>(sparse.filled * sparse.batch);
  const double read = filled * (element * (1 + static_cast<double>(columns)) + kIndexBytes);
  const auto written = static_cast<double>(result.filled * result.batch) * element;
  submit_memory(stream_of_library(handle), read, written, name);
  return 0;
}

/// How many elements the product of two sparse matrices has where those of both are spread evenly.
std::int64_t filled_of_product(const SparseObject& a, const SparseObject& b) {
  const double per_row = a.columns > 0 && a.rows > 0 && b.rows > 0
                             ? static_cast<double>(a.filled) / static_cast<double>(a.rows) *
                                   static_cast<double>(b.filled) / static_cast<double>(b.rows)
                             : 0;
  const double row = std::min(per_row, static_cast<double>(b.columns));
  return static_cast<std::int64_t>(row * static_cast<double>(a.rows));
}

/// Where each row begins, from the rows of elements in order.
void count_rows(const int* rows, int count, int matrix_rows, int* begins, int base) {
  std::fill_n(begins, matrix_rows + 1, 0);
  for (int i = 0; i < count; ++i) {
    const int row = rows[i] - base;
    if (row >= 0 && row < matrix_rows) ++begins[row + 1];
  }
  begins[0] = base;
  for (int i = 0; i < matrix_rows; ++i) begins[i + 1] += begins[i];
}

}  // namespace
}  // namespace flopcast::live

using namespace flopcast::live;

FLOPCAST_API int cusparseCreate(void** handle) {
  *handle = new LibraryHandle;
  return 0;
}
FLOPCAST_API int cusparseDestroy(void* handle) {
  delete static_cast<LibraryHandle*>(handle);
  return 0;
}
FLOPCAST_API int cusparseSetStream(void* handle, void* stream) {
  static_cast<LibraryHandle*>(handle)->stream = stream;
  return 0;
}
FLOPCAST_API int cusparseGetStream(void* handle, void** stream) {
  *stream = stream_of_library(handle);
  return 0;
}

FLOPCAST_API int cusparseCreateCsr(void** object, std::int64_t rows, std::int64_t columns,
                                   std::int64_t filled, void*, void*, void*, int, int, int,
                                   int type) {
  return make_sparse(object, {rows, columns, filled, 1, type});
}
FLOPCAST_API int cusparseCreateCoo(void** object, std::int64_t rows, std::int64_t columns,
                                   std::int64_t filled, void*, void*, void*, int, int, int type) {
  return make_sparse(object, {rows, columns, filled, 1, type});
}
FLOPCAST_API int cusparseCreateDnMat(void** object, std::int64_t rows, std::int64_t columns,
                                     std::int64_t, void*, int type, int) {
  return make_sparse(object, {rows, columns, rows * columns, 1, type});
}
FLOPCAST_API int cusparseCreateDnVec(void** object, std::int64_t size, void*, int type) {
  return make_sparse(object, {size, 1, size, 1, type});
}
FLOPCAST_API int cusparseDestroySpMat(const void* object) { return drop_sparse(object); }
FLOPCAST_API int cusparseDestroyDnMat(const void* object) { return drop_sparse(object); }
FLOPCAST_API int cusparseDestroyDnVec(const void* object) { return drop_sparse(object); }
FLOPCAST_API int cusparseCsrSetStridedBatch(void* object, int batch, std::int64_t, std::int64_t) {
  sparse_object(object).batch = batch;
  return 0;
}
FLOPCAST_API int cusparseDnMatSetStridedBatch(void* object, int batch, std::int64_t) {
  sparse_object(object).batch = batch;
  return 0;
}
FLOPCAST_API int cusparseCsrSetPointers(void*, void*, void*, void*) { return 0; }
FLOPCAST_API int cusparseSpMatGetSize(const void* object, std::int64_t* rows, std::int64_t* columns,
                                      std::int64_t* filled) {
  const SparseObject& own = sparse_object(object);
  *rows = own.rows;
  *columns = own.columns;
  *filled = own.filled;
  return 0;
}

FLOPCAST_API int cusparseSpMM_bufferSize(void*, int, int, const void*, const void*, const void*,
                                         const void*, void*, int, int, std::size_t* bytes) {
  return nothing_to_keep(bytes);
}
FLOPCAST_API int cusparseSpMM(void* handle, int, int, const void*, const void* a, const void*,
                              const void*, void* c, int, int, void*) {
  const SparseObject& result = sparse_object(c);
  return submit_sparse(handle, sparse_object(a), result.columns, result, "cusparseSpMM");
}
FLOPCAST_API int cusparseSpMV_bufferSize(void*, int, const void*, const void*, const void*,
                                         const void*, void*, int, int, std::size_t* bytes) {
  return nothing_to_keep(bytes);
}
FLOPCAST_API int cusparseSpMV(void* handle, int, const void*, const void* a, const void*,
                              const void*, void* y, int, int, void*) {
  return submit_sparse(handle, sparse_object(a), 1, sparse_object(y), "cusparseSpMV");
}
FLOPCAST_API int cusparseSDDMM_bufferSize(void*, int, int, const void*, const void*, const void*,
                                          const void*, void*, int, int, std::size_t* bytes) {
  return nothing_to_keep(bytes);
}
FLOPCAST_API int cusparseSDDMM_preprocess(void*, int, int, const void*, const void*, const void*,
                                          const void*, void*, int, int, void*) {
  return 0;
}
/// Each element of the result is a row times a column.
FLOPCAST_API int cusparseSDDMM(void* handle, int transposed, int, const void*, const void* a,
                               const void*, const void*, void* c, int, int, void*) {
  const SparseObject& left = sparse_object(a);
  const std::int64_t inner = transposed == 0 ? left.columns : left.rows;
  return submit_sparse(handle, sparse_object(c), 2 * inner, sparse_object(c), "cusparseSDDMM");
}

FLOPCAST_API int cusparseSpSM_createDescr(void** object) { return make_sparse(object, {}); }
FLOPCAST_API int cusparseSpSM_destroyDescr(void* object) { return drop_sparse(object); }
FLOPCAST_API int cusparseSpSM_bufferSize(void*, int, int, const void*, const void*, const void*,
                                         void*, int, int, void*, std::size_t* bytes) {
  return nothing_to_keep(bytes);
}
FLOPCAST_API int cusparseSpSM_analysis(void*, int, int, const void*, const void*, const void*,
                                       void*, int, int, void*, void*) {
  return 0;
}
FLOPCAST_API int cusparseSpSM_solve(void* handle, int, int, const void*, const void* a, const void*,
                                    void* c, int, int, void*) {
  const SparseObject& result = sparse_object(c);
  return submit_sparse(handle, sparse_object(a), result.columns, result, "cusparseSpSM");
}
FLOPCAST_API int cusparseSpSV_createDescr(void** object) { return make_sparse(object, {}); }
FLOPCAST_API int cusparseSpSV_destroyDescr(void* object) { return drop_sparse(object); }
FLOPCAST_API int cusparseSpSV_bufferSize(void*, int, const void*, const void*, const void*, void*,
                                         int, int, void*, std::size_t* bytes) {
  return nothing_to_keep(bytes);
}
FLOPCAST_API int cusparseSpSV_analysis(void*, int, const void*, const void*, const void*, void*,
                                       int, int, void*, void*) {
  return 0;
}
FLOPCAST_API int cusparseSpSV_solve(void* handle, int, const void*, const void* a, const void*,
                                    void* y, int, int, void*) {
  return submit_sparse(handle, sparse_object(a), 1, sparse_object(y), "cusparseSpSV");
}

FLOPCAST_API int cusparseSpGEMM_createDescr(void** object) { return make_sparse(object, {}); }
FLOPCAST_API int cusparseSpGEMM_destroyDescr(void* object) { return drop_sparse(object); }
FLOPCAST_API int cusparseSpGEMM_workEstimation(void*, int, int, const void*, const void*,
                                               const void*, const void*, void*, int, int, void*,
                                               std::size_t* bytes, void*) {
  return nothing_to_keep(bytes);
}
/// Asked twice: first for the size of what it needs, without a place for it.
FLOPCAST_API int cusparseSpGEMM_compute(void* handle, int, int, const void*, const void* a,
                                        const void* b, const void*, void* c, int, int, void*,
                                        std::size_t* bytes, void* buffer) {
  if (!buffer) return nothing_to_keep(bytes);
  const SparseObject &left = sparse_object(a), &right = sparse_object(b);
  SparseObject& result = sparse_object(c);
  result.filled = filled_of_product(left, right);
  const std::int64_t row = right.rows > 0 ? right.filled / right.rows : 0;
  return submit_sparse(handle, left, row, result, "cusparseSpGEMM");
}
FLOPCAST_API int cusparseSpGEMM_copy(void*, int, int, const void*, const void* a, const void* b,
                                     const void*, void* c, int, int, void*) {
  sparse_object(c).filled = filled_of_product(sparse_object(a), sparse_object(b));
  return 0;
}

/// Beginnings of rows decide what is read next: they are counted, not only modelled.
FLOPCAST_API int cusparseXcoo2csr(void* handle, const int* rows, int count, int matrix_rows,
                                  int* begins, int base) {
  submit_memory(stream_of_library(handle), 4.0 * count, 4.0 * (matrix_rows + 1),
                "cusparseXcoo2csr");
  put(stream_of_library(handle),
      {.record = record_on(stream_of_library(handle), Act::kNothing),
       .effect = [=] { count_rows(rows, count, matrix_rows, begins, base); }});
  return 0;
}
