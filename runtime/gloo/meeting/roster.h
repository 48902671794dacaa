#pragma once

#include "runtime/gloo/meeting/directory.h"
#include "runtime/gloo/meeting/store.h"

namespace cerar::runtime {

/// Brings `ranks` processes together in a directory, whatever a dead job left in it: each rank says hello
/// with a fresh nonce; rank 0 keeps a roster of the nonces, with a fresh id whenever one changes; a rank
/// acknowledges the id of a roster that holds its own nonce; when every acknowledgement is right, the roster
/// says go. Throws `timeout` naming the ranks that did not come: rank 0 knows them all and tells those that
/// came.
Meeting meet_by_roster(Directory& directory, int rank, int ranks, const Deadline& deadline);

/// Removes what this rank wrote. Call it when all ranks have met and need the meeting's keys no more.
void leave_roster(Directory& directory, int rank) noexcept;

}  // namespace cerar::runtime
