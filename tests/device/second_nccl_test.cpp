// Processes that hold more than one NCCL: the copy that made a communicator is used, or none.
#include <filesystem>

#include "runtime/base/temporary_directory.h"
#include "tests/device/support/refusals.h"
#include "tests/support/command.h"

namespace cerar::test {
namespace {

// NCCL as the system has it, 2.28.7, and another package's, 2.18.5, which lacks ncclMemAlloc.
const std::string kSystems = std::string(CERAR_STAND_INS) + "/libnccl.so.2";
const std::string kApplications = std::string(CERAR_STAND_INS) + "/libapplication_nccl.so.2";

struct Outcome {
  int result = -1;
  std::string sentence, then;
};

Outcome run(const std::vector<std::string>& arguments, const std::string& path = CERAR_STAND_INS,
            std::vector<std::string> environment = {}) {
  environment.push_back("LD_LIBRARY_PATH=" + path);
  std::vector<std::string> words = {CERAR_NCCL_PROGRAM};
  words.insert(words.end(), arguments.begin(), arguments.end());
  CommandOptions options;
  options.environment = std::move(environment);
  options.time_limit = std::chrono::milliseconds(20000);
  const CommandResult done = run_command(words, options);
  EXPECT_EQ(done.exit_code, 0) << done.err;
  Outcome outcome;
  const auto end = done.out.find('\n');
  outcome.result = std::atoi(done.out.c_str());
  outcome.sentence = done.out.substr(0, end);
  outcome.sentence.erase(0, outcome.sentence.find(' ') + 1);
  outcome.then = done.out.substr(end + 1);
  return outcome;
}

void expect(const Outcome& outcome, cerarResult_t result, const std::vector<std::string>& words = {}) {
  EXPECT_EQ(outcome.result, static_cast<int>(result)) << outcome.sentence;
  if (result != cerarSuccess) expect_words(outcome.sentence, words);
}

TEST(SecondNccl, TheOneThatIsLoadedIsUsed) {
  // By its name; or as the only one, whatever its name is, although the system would find another.
  for (const auto& library : {kSystems, kApplications}) {
    const Outcome outcome = run({"0", "no", library});
    expect(outcome, cerarSuccess);
    EXPECT_NE(outcome.then.find(library + " is in use already"), std::string::npos) << outcome.then;
  }
}

TEST(SecondNccl, TwoVersionsAreRefusedWithBothNames) {
  for (const char* const maker : {"0", "1"})
    expect(run({maker, "no", kApplications, kSystems}), cerarUnsupported,
           {"NCCL 2.28.7 of " + kSystems, "NCCL 2.18.5 of " + kApplications, "cerarUseNccl",
            "CERAR_NCCL_LIBRARY"});
}

TEST(SecondNccl, TheCallersChoiceDecidesBetweenTwo) {
  for (const auto& [maker, library] : {std::pair{"0", kApplications}, std::pair{"1", kSystems}}) {
    const Outcome handed = run({maker, "yes", kApplications, kSystems});
    expect(handed, cerarSuccess);
    EXPECT_NE(handed.then.find(library), std::string::npos) << handed.then;
    const Outcome named =
        run({maker, "no", kApplications, kSystems}, CERAR_STAND_INS, {"CERAR_NCCL_LIBRARY=" + library});
    expect(named, cerarSuccess);
    EXPECT_NE(named.then.find(library), std::string::npos) << named.then;
  }
  // The choice of the other one: its functions do not know the communicator.
  expect(run({"0", "no", kApplications, kSystems}, CERAR_STAND_INS, {"CERAR_NCCL_LIBRARY=" + kSystems}),
         cerarInvalidArgument, {"not a communicator that NCCL 2.28.7 of " + kSystems + " knows"});
}

TEST(SecondNccl, ACopyThatCannotBeSeenIsRefused) {
  expect(run({"-", "no"}), cerarUnsupported,
         {"no NCCL was loaded before", "NCCL 2.28.7 of ", "cannot be seen", "cerarUseNccl"});
  // Also where a file is named that nobody had loaded: it cannot have made the communicator.
  expect(run({"-", "no"}, CERAR_STAND_INS, {"CERAR_NCCL_LIBRARY=" + kApplications}), cerarUnsupported,
         {"no NCCL was loaded before", "NCCL 2.18.5 of " + kApplications});
  expect(run({"0", "no", kSystems}, CERAR_STAND_INS, {"CERAR_NCCL_LIBRARY=" + kApplications}),
         cerarUnsupported, {"NCCL 2.28.7 of " + kSystems, "NCCL 2.18.5 of " + kApplications});
}

TEST(SecondNccl, AFileThatIsNone) {
  expect(run({"-", "no"}, CERAR_STAND_INS, {"CERAR_NCCL_LIBRARY=/nonexistent/libnccl.so"}), cerarUnsupported,
         {"/nonexistent/libnccl.so cannot be opened", "CERAR_NCCL_LIBRARY must name"});
}

}  // namespace
}  // namespace cerar::test
