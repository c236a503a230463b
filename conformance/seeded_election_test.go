package conformance_test

// electionSeeds are bugs of elections and of periodic jobs.
func electionSeeds() []seed {
	const (
		election = "election.go"
		leader   = "leader.go"
		job      = "periodicjob.go"
	)
	found := func(test string) finder { return finder{dir: "hasptest/primitives", test: test, runs: 1} }
	return []seed{
		{"leaves the election after a loss", election, edits{{"again = endedTerm(ctx)", "again = false"}},
			found("TestElectionAfterACut")},
		{"drops what lead failed with", election, edits{{" && onlyEnded(ctx, err)", ""}},
			found("TestElectionReturnsWhatLeadFailedWith")},
		{"does not renew a lease of its own length", election, edits{{"config.Renewed = true", "config.Renewed = o.Lease == 0"}},
			found("TestElectionUnderMaxHold")},
		{"trusts its leadership after the lease", election, edits{{"t.ctx.Err() == nil", "t.ctx != nil"}},
			found("TestElectionWaitsForLead")},
		{"campaigns at once after it has resigned", election, edits{{"return termPause", "return 0"}},
			found("TestElectionAfterResigning")},
		{"gives up in an outage", election, edits{{"false, mayPass(err), err", "false, false, err"}},
			found("TestElectionWithoutAServer")},
		{"observes without messages", leader, edits{{"Channel: e.elected, FreeUnits", "FreeUnits"}},
			found("TestObserve")},
		{"observes no more after an outage", leader, edits{
			{"case ctx.Err() != nil || !mayPass(err):", "case ctx.Err() != nil || err != nil:"},
		}, found("TestObserveThroughAnOutage")},
		{"runs a job for an older period", "internal/script/periodic_acquire.lua.go", edits{
			{"not less(last, start)", "last == start"},
		}, finder{dir: "examples/recipes", test: "TestRunHourlyRunsOnOneReplica", runs: 1}},
		{"records a job whose lease it has lost", job, edits{{"if lease.Err() != nil {", "if lease == nil {"}},
			found("TestPeriodicJobWithALostLeaseIsNotCompleted")},
		{"records nothing after its context", job, edits{{"context.WithoutCancel(ctx), completeTimeout", "ctx, completeTimeout"}},
			found("TestPeriodicJobIsCompletedAfterItsContext")},
		{"waits for a period that is completed", job, edits{{"0, extend.Answer{}, errCompleted", "0, extend.Answer{}, nil"}},
			found("TestPeriodicJobTried")},
		{"runs a job two periods ahead", job, edits{{"at.Add(-j.period)", "at.Add(-2 * j.period)"}},
			found("TestPeriodicJobAheadOfTheServer")},
		{"forgets a period of a week after a day", job, edits{{"max(2*min(period, math.MaxInt64/2), minRemembered)", "minRemembered"}},
			found("TestPeriodicJobRemembers")},
		{"records a period without the lock", "internal/script/periodic_complete.lua.go", edits{
			{"if redis.call('hexists', lock, owner) == 0 then", "if false then"},
		}, finder{dir: "hasptest", test: "TestErrorTexts", runs: 1}},
	}
}
