#include "runtime/bench/nccl_ids.h"

#include <fmt/format.h>

#include <cstring>

#include "runtime/base/environment.h"
#include "runtime/base/error.h"
#include "runtime/gloo/meeting/store.h"
#include "runtime/measure/call_vectors.h"

namespace cerar::runtime {
namespace {

constexpr auto kKey = "nccl-ids";

}  // namespace

NcclIds make_nccl_ids() {
  NcclIds ids{};
  for (cerarNcclId_t* id : {&ids.measured, &ids.ring}) require_success(cerarGetNcclId(id));
  return ids;
}

SharedNcclIds::SharedNcclIds(const std::string& store, int rank, int ranks) {
  const Deadline deadline(read_environment().timeouts.meeting);
  store_ = open_store(store, rank, ranks, deadline);
  if (rank == 0) ids_ = make_nccl_ids();
  store_->meet(deadline);
  if (rank == 0) {
    store_->set(kKey, {reinterpret_cast<const char*>(&ids_), sizeof ids_});
    return;
  }
  const auto bytes = store_->await(kKey, deadline);
  if (!bytes || bytes->size() != sizeof ids_)
    throw Error(ErrorCode::timeout,
                with_timeout_advice(
                    fmt::format("rank 0 put no NCCL id into the store {} within {} ms; check its log.",
                                store_->name(), deadline.limit().count())));
  std::memcpy(&ids_, bytes->data(), sizeof ids_);
}

SharedNcclIds::~SharedNcclIds() { store_->leave(); }

}  // namespace cerar::runtime
