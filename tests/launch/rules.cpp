#include <prdist/launch/rules.hpp>

#include <gtest/gtest.h>

using namespace prdist;
using Action = EndingRules::Action;
using std::chrono::milliseconds;

namespace {

constexpr Ending fine{0, 0, false};
constexpr Ending code(int number) {
  return {number, 0, false};
}
constexpr Ending killed(int signal) {
  return {0, signal, false};
}

EndingRules::TimePoint at(int millis) {
  return EndingRules::TimePoint(std::chrono::hours(1) + milliseconds(millis));
}

/// Ranks 0 and 1 are servers, 2 and 3 trainers. Graces: 1000 ms for servers, 500 ms before SIGKILL.
struct Job {
  EndingRules rules;
  explicit Job(std::optional<milliseconds> timeout = {}, milliseconds grace = milliseconds(500))
      : rules({{JobRole::server, 0}, {JobRole::server, 1}, {JobRole::trainer, 0}, {JobRole::trainer, 1}},
              {milliseconds(1000), grace, timeout}, at(0)) {}

  void end(std::vector<MemberEnding> const& endings) { rules.ended(endings); }
  Action next(int millis, bool left = false) { return rules.next(at(millis), left); }
};

}  // namespace

TEST(EndingRules, AJobWhoseMembersAllEndWellSucceeds) {
  Job job;
  EXPECT_EQ(job.next(0), Action::wait);
  job.end({{2, fine}, {3, fine}});
  EXPECT_EQ(job.next(100), Action::wait);
  job.end({{0, fine}, {1, fine}});
  EXPECT_EQ(job.next(200), Action::finish);
  EXPECT_EQ(job.rules.outcome(), Outcome::succeeded);
  EXPECT_EQ(job.rules.exit_code(), 0);
}

TEST(EndingRules, AServerThatEndsWellBeforeTheTrainersIsNoFailure) {
  Job job;
  job.end({{0, fine}});
  EXPECT_EQ(job.next(0), Action::wait);
  EXPECT_EQ(job.rules.outcome(), Outcome::succeeded);
}

TEST(EndingRules, ServersThatStayAreEndedAfterTheirGraceAndThatIsSuccess) {
  Job job;
  job.end({{2, fine}, {3, fine}});
  EXPECT_EQ(job.next(100), Action::wait);
  EXPECT_EQ(job.next(1099), Action::wait);
  EXPECT_EQ(job.next(1100), Action::terminate);
  EXPECT_EQ(job.next(1101), Action::wait);
  job.end({{0, killed(SIGTERM)}});
  EXPECT_EQ(job.next(1599), Action::wait);
  EXPECT_EQ(job.next(1600), Action::kill);
  EXPECT_EQ(job.next(1601), Action::kill);
  job.end({{1, killed(SIGKILL)}});
  EXPECT_EQ(job.next(1602), Action::finish);
  EXPECT_EQ(job.rules.outcome(), Outcome::succeeded);
  EXPECT_EQ(job.rules.exit_code(), 0);
}

TEST(EndingRules, AServerThatFailsInItsGraceFailsTheJob) {
  Job job;
  job.end({{2, fine}, {3, fine}});
  EXPECT_EQ(job.next(0), Action::wait);
  job.end({{1, code(9)}});
  EXPECT_EQ(job.next(1), Action::terminate);
  EXPECT_EQ(job.rules.exit_code(), 9);
}

// A trainer that was asked to stop has met the others to save: they end by themselves, and with their own code.
TEST(EndingRules, AMemberThatStoppedInOrderLeavesTheOthersAMomentToDoSo) {
  Job job;
  job.end({{2, code(143)}});
  EXPECT_EQ(job.next(0), Action::wait);
  job.end({{3, code(143)}, {0, code(143)}});
  EXPECT_EQ(job.next(1999), Action::wait);
  EXPECT_FALSE(job.rules.ending());
  EXPECT_EQ(job.next(2000), Action::terminate);
  EXPECT_EQ(job.rules.exit_code(), 143);
  EXPECT_EQ(job.rules.first_failure(), 2U);

  Job quick;
  quick.end({{2, code(143)}});
  EXPECT_EQ(quick.next(0), Action::wait);
  quick.end({{0, code(143)}, {1, code(143)}, {3, code(143)}});
  EXPECT_EQ(quick.next(5), Action::terminate);  // nobody is left to hear it
  EXPECT_EQ(quick.next(6), Action::finish);
  EXPECT_EQ(quick.rules.outcome(), Outcome::failed);
  EXPECT_TRUE(quick.rules.stopped_in_order());

  Job hurried;
  hurried.end({{2, code(143)}});
  EXPECT_EQ(hurried.next(0), Action::wait);
  hurried.rules.interrupted(SIGINT, at(1));
  EXPECT_EQ(hurried.next(1), Action::terminate);

  Job killed_one;
  killed_one.end({{2, killed(SIGTERM)}});
  EXPECT_EQ(killed_one.next(0), Action::terminate);
  EXPECT_FALSE(killed_one.rules.stopped_in_order());
}

TEST(EndingRules, OneThatCouldNotSaveIsAFailureOfAJobThatStops) {
  for (int const said : {70, 78}) {
    Job job;
    job.end({{0, code(143)}});
    EXPECT_TRUE(job.rules.stopped_in_order());
    job.end({{3, code(said)}});
    EXPECT_FALSE(job.rules.stopped_in_order());
    EXPECT_EQ(job.rules.first_failure(), 3U);
    EXPECT_EQ(job.rules.exit_code(), said);
    EXPECT_EQ(job.next(0), Action::terminate);
  }
  Job job;
  job.end({{0, code(143)}});
  job.end({{3, code(75)}, {2, code(7)}});
  EXPECT_EQ(job.rules.exit_code(), 143) << "whatever else follows";
}

TEST(EndingRules, TheFirstFailureDecidesTheCodeAndEndsTheOthers) {
  Job job;
  job.end({{3, code(7)}});
  EXPECT_EQ(job.next(10), Action::terminate);
  job.end({{0, killed(SIGTERM)}, {1, killed(SIGTERM)}, {2, code(1)}});
  EXPECT_EQ(job.next(20), Action::finish);
  EXPECT_EQ(job.rules.outcome(), Outcome::failed);
  EXPECT_EQ(job.rules.exit_code(), 7);
  EXPECT_EQ(job.rules.first_failure(), 3U);
}

TEST(EndingRules, ASignalIsAFailureOf128PlusItsNumber) {
  Job job;
  job.end({{0, killed(SIGSEGV)}});
  EXPECT_EQ(job.next(0), Action::terminate);
  EXPECT_EQ(job.rules.exit_code(), 139);
  EXPECT_EQ(job.rules.first_failure(), 0U);
}

TEST(EndingRules, OfFailuresSeenTogetherTheOneThatLostAPeerIsNotTheCause) {
  Job job;
  job.end({{2, code(75)}, {1, killed(SIGKILL)}, {3, code(75)}});
  EXPECT_EQ(job.rules.first_failure(), 1U);
  EXPECT_EQ(job.rules.exit_code(), 137);
}

TEST(EndingRules, TheCauseMayShowItselfAfterItsVictim) {
  Job job;
  job.end({{0, code(75)}});
  EXPECT_EQ(job.next(10), Action::wait);
  EXPECT_FALSE(job.rules.first_failure());
  job.end({{2, code(78)}});
  EXPECT_EQ(job.next(1500), Action::terminate);
  EXPECT_EQ(job.rules.first_failure(), 2U);
  EXPECT_EQ(job.rules.exit_code(), 78);
}

TEST(EndingRules, WithoutACauseTheVictimIsTheFailure) {
  Job job;
  job.end({{0, code(75)}});
  EXPECT_EQ(job.next(10), Action::wait);
  EXPECT_EQ(job.next(2009), Action::wait);
  EXPECT_EQ(job.next(2010), Action::terminate);
  EXPECT_EQ(job.rules.first_failure(), 0U);
  EXPECT_EQ(job.rules.exit_code(), 75);

  Job ended;
  ended.end({{0, code(75)}, {1, code(75)}, {2, code(75)}, {3, fine}});
  EXPECT_NE(ended.next(0), Action::wait) << "nobody is left who could be the cause";
  EXPECT_EQ(ended.rules.exit_code(), 75);
}

TEST(EndingRules, AnInterruptEndsTheJobWithItsCodeAndTheSecondKills) {
  Job job(std::nullopt, milliseconds(5000));
  job.rules.interrupted(SIGINT, at(0));
  EXPECT_EQ(job.next(0), Action::terminate);
  EXPECT_EQ(job.next(1), Action::wait);
  job.rules.interrupted(SIGINT, at(500));
  EXPECT_EQ(job.next(501), Action::kill);
  job.end({{0, killed(SIGKILL)}, {1, killed(SIGKILL)}, {2, killed(SIGKILL)}, {3, killed(SIGKILL)}});
  EXPECT_EQ(job.next(502), Action::finish);
  EXPECT_EQ(job.rules.outcome(), Outcome::interrupted);
  EXPECT_EQ(job.rules.exit_code(), 130);
  EXPECT_FALSE(job.rules.first_failure());
}

// As timeout(1) sends it, to the program and to its group.
TEST(EndingRules, TheSameSignalAgainAtOnceIsNoSecondOne) {
  Job job(std::nullopt, milliseconds(5000));
  job.rules.interrupted(SIGTERM, at(0));
  job.rules.interrupted(SIGTERM, at(0));
  EXPECT_EQ(job.next(0), Action::terminate);
  job.rules.interrupted(SIGTERM, at(499));
  EXPECT_EQ(job.next(499), Action::wait);
  EXPECT_EQ(job.next(4999), Action::wait) << "they have the whole grace";
  EXPECT_EQ(job.rules.exit_code(), 143);

  Job other(std::nullopt, milliseconds(5000));
  other.rules.interrupted(SIGINT, at(0));
  EXPECT_EQ(other.next(0), Action::terminate);
  other.rules.interrupted(SIGTERM, at(1));
  EXPECT_EQ(other.next(1), Action::kill) << "another one is somebody's wish";
  EXPECT_EQ(other.rules.exit_code(), 130);
}

TEST(EndingRules, AnInterruptWhileAFailedJobEndsHurriesItAndKeepsTheCause) {
  Job job;
  job.end({{3, code(7)}});
  EXPECT_EQ(job.next(0), Action::terminate);
  job.rules.interrupted(SIGINT, at(1));
  EXPECT_EQ(job.next(1), Action::kill);
  EXPECT_EQ(job.rules.exit_code(), 7);
}

TEST(EndingRules, WhatFailsWhileBeingEndedIsNoFailure) {
  Job job;
  job.rules.interrupted(SIGTERM, at(0));
  job.end({{2, killed(SIGSEGV)}});
  EXPECT_EQ(job.next(0), Action::terminate);
  job.end({{3, code(1)}});
  EXPECT_EQ(job.rules.outcome(), Outcome::interrupted);
  EXPECT_EQ(job.rules.exit_code(), 143);
}

TEST(EndingRules, WhoCouldNotSaveWhenAskedToStopGivesTheCode) {
  for (int const said : {70, 78}) {
    Job job;
    job.rules.interrupted(SIGTERM, at(0));
    EXPECT_EQ(job.next(0), Action::terminate);
    job.end({{2, code(143)}, {3, code(said)}});
    EXPECT_EQ(job.rules.outcome(), Outcome::interrupted);
    EXPECT_EQ(job.rules.exit_code(), said);
    EXPECT_EQ(job.rules.signal(), SIGTERM);
    job.end({{0, code(75)}, {1, code(0)}});
    EXPECT_EQ(job.rules.exit_code(), said);
  }
}

// 143 says that all was saved: where one of them had to be killed for it to end, it was not.
TEST(EndingRules, WhoWasAskedToStopAndHadToBeKilledHasNotSaved) {
  for (int const signal : {SIGTERM, SIGINT}) {
    Job job;
    job.rules.interrupted(signal, at(0));
    EXPECT_EQ(job.next(0), Action::terminate);
    job.end({{2, code(143)}});
    EXPECT_EQ(job.next(499), Action::wait);
    EXPECT_EQ(job.next(500), Action::kill);
    EXPECT_EQ(job.rules.exit_code(), 128 + signal) << "until it is known who was killed";
    job.end({{0, killed(SIGKILL)}, {1, code(143)}, {3, code(137)}});  // 3 is a shell
    EXPECT_EQ(job.next(501), Action::finish);
    EXPECT_EQ(job.rules.outcome(), Outcome::interrupted);
    EXPECT_EQ(job.rules.exit_code(), 137);
    EXPECT_EQ(job.rules.signal(), signal);
    for (std::size_t const rank : {0U, 3U}) EXPECT_TRUE(job.rules.is_too_late(rank)) << rank;
    for (std::size_t const rank : {1U, 2U}) EXPECT_FALSE(job.rules.is_too_late(rank)) << rank;
    EXPECT_FALSE(job.rules.leftovers_too_late());
  }
}

TEST(EndingRules, WhoEndsByItselfAtTheEndOfTheGraceIsNotTooLate) {
  Job job;
  job.rules.interrupted(SIGTERM, at(0));
  EXPECT_EQ(job.next(0), Action::terminate);
  EXPECT_EQ(job.next(500), Action::kill);
  job.end({{0, code(143)}, {1, code(143)}, {2, code(143)}, {3, code(143)}});  // SIGKILL found nobody
  EXPECT_EQ(job.next(501), Action::finish);
  EXPECT_EQ(job.rules.exit_code(), 143);
}

TEST(EndingRules, WhatKnowsNothingOfSigtermIsStoppedByIt) {
  Job job;
  job.rules.interrupted(SIGTERM, at(0));
  EXPECT_EQ(job.next(0), Action::terminate);
  job.end({{0, killed(SIGTERM)}, {1, killed(SIGTERM)}, {2, killed(SIGKILL)}, {3, killed(SIGTERM)}});
  EXPECT_EQ(job.next(1), Action::finish);
  EXPECT_EQ(job.rules.exit_code(), 143);
  EXPECT_FALSE(job.rules.is_too_late(2)) << "somebody else killed it";
}

// A shell in front of the program ends at once, and what it started is killed while it saves.
TEST(EndingRules, WhatMembersStartedHasNotSavedEither) {
  Job job;
  job.rules.interrupted(SIGTERM, at(0));
  EXPECT_EQ(job.next(0), Action::terminate);
  job.end({{0, killed(15)}, {1, killed(15)}, {2, killed(15)}, {3, killed(15)}});
  EXPECT_EQ(job.next(500, true), Action::kill);
  EXPECT_EQ(job.next(501, false), Action::finish);
  EXPECT_EQ(job.rules.exit_code(), 137);
  EXPECT_TRUE(job.rules.leftovers_too_late());
  EXPECT_FALSE(job.rules.is_too_late(2));
}

TEST(EndingRules, ASecondSignalKillsWithTheCodeOfTheFirst) {
  Job job;
  job.rules.interrupted(SIGTERM, at(0));
  EXPECT_EQ(job.next(0), Action::terminate);
  job.rules.interrupted(SIGINT, at(1));
  EXPECT_EQ(job.next(1, true), Action::kill);
  job.end({{0, killed(SIGKILL)}, {1, killed(SIGKILL)}, {2, killed(SIGKILL)}, {3, killed(SIGKILL)}});
  EXPECT_EQ(job.next(600, false), Action::finish);
  EXPECT_EQ(job.rules.exit_code(), 143);
  EXPECT_FALSE(job.rules.is_too_late(0) || job.rules.leftovers_too_late());

  Job later;
  later.rules.interrupted(SIGTERM, at(0));
  EXPECT_EQ(later.next(0), Action::terminate);
  EXPECT_EQ(later.next(500), Action::kill);
  later.rules.interrupted(SIGINT, at(501));
  later.end({{0, killed(SIGKILL)}});
  EXPECT_EQ(later.rules.exit_code(), 137) << "the grace was over before";
}

TEST(EndingRules, WhoSaysWhyItCouldNotSaveKnowsMoreThanAKill) {
  for (bool const before : {false, true}) {
    Job job;
    job.rules.interrupted(SIGTERM, at(0));
    EXPECT_EQ(job.next(0), Action::terminate);
    if (before) job.end({{3, code(78)}});
    EXPECT_EQ(job.next(500), Action::kill);
    job.end({{2, killed(SIGKILL)}});
    if (!before) job.end({{3, code(78)}});
    EXPECT_EQ(job.rules.exit_code(), 78);
  }
}

TEST(EndingRules, AKilledOneOfAJobThatAMemberWasToStopHasNotSaved) {
  Job job;
  job.end({{2, code(143)}});
  EXPECT_EQ(job.next(0), Action::wait);
  EXPECT_EQ(job.next(2000), Action::terminate);
  EXPECT_EQ(job.next(2500), Action::kill);
  job.end({{0, killed(SIGKILL)}, {1, code(143)}, {3, code(143)}});
  EXPECT_EQ(job.rules.exit_code(), 137);
  EXPECT_TRUE(job.rules.is_too_late(0));
  EXPECT_TRUE(job.rules.stopped_in_order());
}

TEST(EndingRules, AKilledOneOfAJobThatWasNotToSaveChangesNoCode) {
  Job failed;
  failed.end({{3, killed(SIGTERM)}});
  EXPECT_EQ(failed.next(0), Action::terminate);
  EXPECT_EQ(failed.next(500, true), Action::kill);
  failed.end({{0, killed(SIGKILL)}});
  EXPECT_EQ(failed.rules.exit_code(), 143);
  EXPECT_FALSE(failed.rules.is_too_late(0) || failed.rules.leftovers_too_late());

  Job late(milliseconds(2000));
  EXPECT_EQ(late.next(2000), Action::terminate);
  EXPECT_EQ(late.next(2500), Action::kill);
  late.end({{0, killed(SIGKILL)}});
  EXPECT_EQ(late.rules.exit_code(), 124);
}

TEST(EndingRules, AnotherNodeThatWasAskedToStopAsksTheMembersHere) {
  for (bool const asked : {false, true}) {
    Job job;
    job.rules.failed_elsewhere(143, asked);
    EXPECT_EQ(job.next(0), Action::terminate);
    EXPECT_EQ(job.next(500), Action::kill);
    job.end({{0, killed(SIGKILL)}});
    EXPECT_EQ(job.rules.exit_code(), asked ? 137 : 143);
    EXPECT_EQ(job.rules.is_too_late(0), asked);
  }
}

// Agents on other hosts end their members themselves, and say whom they had to kill.
TEST(EndingRules, WhoWasTooLateElsewhereIsSo) {
  Job job;
  job.rules.interrupted(SIGTERM, at(0));
  EXPECT_EQ(job.next(0), Action::terminate);
  job.end({{0, killed(SIGKILL), true}, {1, killed(SIGKILL), false}});
  EXPECT_EQ(job.rules.exit_code(), 137);
  EXPECT_TRUE(job.rules.is_too_late(0));
  EXPECT_FALSE(job.rules.is_too_late(1));

  Job wrapped;
  wrapped.rules.interrupted(SIGTERM, at(0));
  EXPECT_EQ(wrapped.next(0), Action::terminate);
  wrapped.rules.leftovers_elsewhere_too_late();
  EXPECT_EQ(wrapped.rules.exit_code(), 137);

  Job other;
  other.end({{3, code(7)}});
  EXPECT_EQ(other.next(0), Action::terminate);
  other.end({{0, killed(SIGKILL), true}});
  other.rules.leftovers_elsewhere_too_late();
  EXPECT_EQ(other.rules.exit_code(), 7);
  EXPECT_FALSE(other.rules.is_too_late(0) || other.rules.leftovers_too_late());
}

TEST(EndingRules, ThePassedTimeLimitIs124) {
  Job job(milliseconds(2000));
  EXPECT_EQ(job.next(1999), Action::wait);
  EXPECT_EQ(job.next(2000), Action::terminate);
  EXPECT_EQ(job.rules.outcome(), Outcome::timed_out);
  EXPECT_EQ(job.rules.exit_code(), 124);
}

TEST(EndingRules, WhatMembersLeftBehindIsEndedBeforeTheJobIsOver) {
  Job job;
  job.end({{0, fine}, {1, fine}, {2, fine}, {3, fine}});
  EXPECT_EQ(job.next(0, true), Action::terminate);
  EXPECT_EQ(job.next(499, true), Action::wait);
  EXPECT_EQ(job.next(500, true), Action::kill);
  EXPECT_EQ(job.next(501, false), Action::finish);
  EXPECT_EQ(job.rules.exit_code(), 0);
}

// A shell in front of the program ends at once; the program behind it may still be saving.
TEST(EndingRules, WhatMembersStartedHasTheWholeGrace) {
  Job job;
  job.rules.interrupted(SIGTERM, at(0));
  EXPECT_EQ(job.next(0), Action::terminate);
  job.end({{0, killed(15)}, {1, killed(15)}, {2, killed(15)}, {3, killed(15)}});
  EXPECT_EQ(job.next(400, true), Action::wait);
  EXPECT_EQ(job.next(450, false), Action::finish);
}

TEST(EndingRules, WhatSurvivesSigkillIsAbandoned) {
  Job job;
  job.rules.interrupted(SIGTERM, at(0));
  EXPECT_EQ(job.next(0), Action::terminate);
  EXPECT_EQ(job.next(500), Action::kill);
  job.end({{0, code(143)}});
  EXPECT_EQ(job.next(5499), Action::kill);
  EXPECT_EQ(job.next(5500), Action::abandon);
  EXPECT_EQ(job.rules.exit_code(), 137) << "nor has it saved";
  EXPECT_TRUE(job.rules.is_too_late(1));
  EXPECT_FALSE(job.rules.is_too_late(0));
}

TEST(EndingRules, OutcomesHaveNames) {
  EXPECT_EQ(name_of(Outcome::succeeded), "succeeded");
  EXPECT_EQ(name_of(Outcome::failed), "failed");
  EXPECT_EQ(name_of(Outcome::interrupted), "interrupted");
  EXPECT_EQ(name_of(Outcome::timed_out), "timed_out");
}

// On a node of a larger job: the trainers here are done, others are not.
TEST(EndingRules, ServersAreNotDoneWhileTrainersElsewhereTrain) {
  Job job;
  job.rules.trainers_elsewhere(true);
  job.end({{2, fine}, {3, fine}});
  EXPECT_EQ(job.next(5000), Action::wait);
  job.rules.trainers_elsewhere(false);
  EXPECT_EQ(job.next(6000), Action::wait) << "their grace begins when all are done";
  EXPECT_EQ(job.next(7000), Action::terminate);
}

TEST(EndingRules, ATrainerThatComesBackElsewhereStartsTheirGraceAnew) {
  Job job;
  job.end({{2, fine}, {3, fine}});
  EXPECT_EQ(job.next(0), Action::wait);
  job.rules.trainers_elsewhere(true);
  EXPECT_EQ(job.next(900), Action::wait);
  job.rules.trainers_elsewhere(false);
  EXPECT_EQ(job.next(1500), Action::wait);
  EXPECT_EQ(job.next(2500), Action::terminate);
}

TEST(EndingRules, AFailureOnAnotherNodeEndsTheMembersHereWithItsCode) {
  Job job;
  job.rules.failed_elsewhere(7);
  EXPECT_EQ(job.next(0), Action::terminate);
  EXPECT_EQ(job.rules.outcome(), Outcome::failed);
  EXPECT_EQ(job.rules.exit_code(), 7);
  EXPECT_FALSE(job.rules.first_failure());
}

TEST(EndingRules, AFailureOnAnotherNodeIsNotTheCauseOfAnEarlierOneHere) {
  Job job;
  job.end({{2, code(9)}});
  job.rules.failed_elsewhere(7);
  EXPECT_EQ(job.rules.exit_code(), 9);
  EXPECT_EQ(job.rules.first_failure(), 2U);
}

TEST(EndingRules, NothingIsWaitedForWhenNobodyIsLeftHere) {
  Job job;
  job.rules.trainers_elsewhere(true);
  job.end({{0, fine}, {1, fine}, {2, fine}, {3, fine}});
  EXPECT_EQ(job.next(0), Action::finish);
}

// How the job ends is not known here before it has ended everywhere.
TEST(EndingRules, ANodeWithoutMembersStaysWhileTheJobGoesOnElsewhere) {
  Job job;
  job.rules.nodes_elsewhere(true);
  job.end({{0, fine}, {1, fine}, {2, fine}, {3, fine}});
  EXPECT_EQ(job.next(0), Action::wait);
  EXPECT_EQ(job.next(100'000), Action::wait);
  job.rules.nodes_elsewhere(false);
  EXPECT_EQ(job.next(100'001), Action::finish);
  EXPECT_EQ(job.rules.exit_code(), 0);
}

TEST(EndingRules, ANodeThatStayedHearsOfTheFailure) {
  Job job;
  job.rules.nodes_elsewhere(true);
  job.end({{0, fine}, {1, fine}, {2, fine}, {3, fine}});
  EXPECT_EQ(job.next(0), Action::wait);
  job.rules.failed_elsewhere(7);
  EXPECT_EQ(job.next(100), Action::terminate);
  EXPECT_EQ(job.next(101), Action::finish);
  EXPECT_EQ(job.rules.exit_code(), 7);
}

TEST(EndingRules, ATrainerOfAnElasticJobFallsAloneUnlessNoOtherCouldDoBetter) {
  EndingLimits limits;
  limits.expendable_trainers = true;
  auto const ended = [&](MemberEnding const& ending) {
    EndingRules rules({{JobRole::server, 0}, {JobRole::trainer, 0}, {JobRole::trainer, 1}}, limits, at(0));
    rules.ended(std::vector{ending});
    return rules.outcome();
  };
  EXPECT_EQ(ended({1, killed(9)}), Outcome::succeeded);
  EXPECT_EQ(ended({1, code(70)}), Outcome::succeeded);
  EXPECT_EQ(ended({1, code(78)}), Outcome::failed);
  EXPECT_EQ(ended({1, code(64)}), Outcome::failed);
  EXPECT_EQ(ended({0, killed(9)}), Outcome::failed) << "a server does not";
}

TEST(EndingRules, AFallenTrainerRunsOnUntilItIsDecidedWhatBecomesOfIt) {
  EndingLimits limits{milliseconds(100), milliseconds(200), {}, true};
  std::vector<JobMember> const members{{JobRole::server, 0}, {JobRole::trainer, 0}};
  EndingRules rules(members, limits, at(0));
  rules.ended(std::vector<MemberEnding>{{1, killed(9)}});
  EXPECT_TRUE(rules.is_fallen(1));
  EXPECT_EQ(rules.next(at(1000), false), EndingRules::Action::wait) << "servers are needed";
  rules.started_again(1);
  rules.ended(std::vector<MemberEnding>{{1, code(0)}});
  EXPECT_FALSE(rules.is_fallen(1));
  (void)rules.next(at(1001), false);
  EXPECT_EQ(rules.next(at(1200), false), EndingRules::Action::terminate);
  EXPECT_EQ(rules.outcome(), Outcome::succeeded);
  // While all are ended nobody decides.
  EndingRules stopped(members, limits, at(0));
  stopped.ended(std::vector<MemberEnding>{{1, killed(9)}});
  stopped.interrupted(SIGTERM, at(0));
  EXPECT_EQ(stopped.next(at(1), false), EndingRules::Action::terminate);
  stopped.ended(std::vector<MemberEnding>{{0, killed(15)}});
  EXPECT_EQ(stopped.next(at(2), false), EndingRules::Action::finish);
}

TEST(EndingRules, WhoFallsWhenTheDataHasEndedElsewhereIsNoFailure) {
  EndingLimits const limits{milliseconds(100), milliseconds(200), {}, true};
  EndingRules rules({{JobRole::server, 0}, {JobRole::trainer, 0}}, limits, at(0));
  rules.ended(std::vector<MemberEnding>{{1, killed(9)}});
  rules.ended(std::vector<MemberEnding>{{0, code(0)}});
  rules.finished_elsewhere();
  rules.given_up(1);
  EXPECT_EQ(rules.next(at(1), false), EndingRules::Action::finish);
  EXPECT_EQ(rules.outcome(), Outcome::succeeded);
  EXPECT_EQ(rules.exit_code(), 0);
}

TEST(EndingRules, TheLastFallenTrainerOfANodeWithoutServersIsItsFailure) {
  EndingLimits const limits{milliseconds(100), milliseconds(200), {}, true};
  EndingRules rules({{JobRole::trainer, 0}, {JobRole::trainer, 1}}, limits, at(0));
  rules.ended(std::vector<MemberEnding>{{0, code(70)}, {1, killed(9)}});
  rules.given_up(0);
  EXPECT_EQ(rules.outcome(), Outcome::succeeded);
  rules.given_up(1);
  EXPECT_EQ(rules.outcome(), Outcome::failed);
  EXPECT_EQ(rules.exit_code(), 137);
  // One that has finished makes it a success.
  EndingRules well({{JobRole::trainer, 0}, {JobRole::trainer, 1}}, limits, at(0));
  well.ended(std::vector<MemberEnding>{{0, code(0)}, {1, killed(9)}});
  well.given_up(1);
  EXPECT_EQ(well.next(at(1), false), EndingRules::Action::finish);
  EXPECT_EQ(well.exit_code(), 0);
}
