#pragma once

#include <memory>
#include <string>

#include "runtime/include/cerar.h"

namespace cerar::runtime {

class Store;

/// Ids for the communicators of one measurement.
struct NcclIds {
  cerarNcclId_t measured, ring;
};

/// Throws what the C API reports.
NcclIds make_nccl_ids();

/// The ids that rank 0 of a job of processes makes; they meet in a store ("file:DIRECTORY" or
/// "tcp:HOST:PORT"), which is there as long as this object. Throws what `meet` throws, and `timeout`.
class SharedNcclIds {
 public:
  SharedNcclIds(const std::string& store, int rank, int ranks);
  ~SharedNcclIds();
  SharedNcclIds(const SharedNcclIds&) = delete;
  SharedNcclIds& operator=(const SharedNcclIds&) = delete;

  const NcclIds& ids() const { return ids_; }

 private:
  std::unique_ptr<Store> store_;
  NcclIds ids_{};
};

}  // namespace cerar::runtime
