package conformance_test

// dispatchSeeds are bugs in the sending of calls, and in what follows when their callers leave.
func dispatchSeeds() []seed {
	const (
		batch       = "internal/dispatch/batch.go"
		call        = "internal/dispatch/call.go"
		dispatching = "internal/dispatch/dispatch.go"
		queued      = "internal/dispatch/queue.go"
		direct      = "internal/dispatch/direct.go"
	)
	dispatcher := func(test string) finder {
		return finder{dir: "primitives/internal/dispatch", test: test}
	}
	return []seed{
		{"keeps a grant whose caller has left", leaseFile, edits{
			{"if granted || backend.MayHaveRun(err) {", "if backend.MayHaveRun(err) {"},
		}, properties},
		{"minds no lost reply to a caller who has left", leaseFile, edits{
			{"\th.releaseUnwanted(took || h.queued, err)", "\th.releaseUnwanted(took || h.queued, nil)"},
		}, finder{dir: "hasptest/primitives", test: "TestLockCancelledLeavesNothing"}},
		{"releases by force what others hold", "internal/script/lock_release_all.lua.go", edits{
			{"redis.pcall('hexists', lock, owners[i])", "redis.pcall('exists', lock)"},
		}, properties},
		{"sends a call that was withdrawn while it queued", batch, edits{
			{"if !c.claim.Begin() {\n\t\t\tcontinue\n\t\t}\n", "c.claim.Begin()\n"},
		}, dispatcher("TestQueuedCallIsWithdrawn")},
		{"says that a call under way is withdrawn", call, edits{
			{"if !r.AlwaysSend && r.claim.Cancel() {", "if !r.AlwaysSend {"},
		}, properties},
		{"never gives up a batch that all have left", batch, edits{
			{"time.AfterFunc(after, b.", "time.AfterFunc(1000*after, b."},
		}, dispatcher("TestAbandonedBatchIsGivenUp")},
		{"gives up a call in the instant in which it turns out to be unsent", batch, edits{
			{"time.AfterFunc(after, b.giveUpUnclaimed)", "time.AfterFunc(after, b.giveUp)"},
		}, dispatcher("TestAbandonedCallThatWasNotSent")},
		{"sends what the server cannot answer", dispatching, edits{
			{"d.unanswered() >= maxUnanswered ||", "false ||"},
		}, dispatcher("TestOverloadWaitsHere")},
		{"sends nothing more over other links while one is silent", dispatching, edits{
			{"b.replicas == 0 && time.Since(b.began) < lateAfter", "b.replicas == 0"},
		}, dispatcher("TestMoreThanOneBatch")},
		{"has each batch of a crowd wait for a connection", dispatching, edits{
			{"d.unsent() >= maxUnsent", "false"},
		}, dispatcher("TestCrowdWaitsForConnections")},
		{"minds not that others get their connections", dispatching, edits{
			{"if d.onePool && d.moved.After(waitsSince) {", "if false {"},
		}, dispatcher("TestCrowdWaitsForConnections")},
		{"has a caller that may leave send by itself", call, edits{
			{"ctx.Done() != nil || r.Limit > 0 ||", "r.Limit > 0 ||"},
		}, dispatcher("TestStoppedServer")},
		{"has a caller look for a connection by itself", direct, edits{
			{" || time.Since(d.answered) > warm", ""},
		}, dispatcher("TestCallerSends")},
		{"has a caller send by itself after Close", direct, edits{
			{"d.closed || ", ""},
		}, dispatcher("TestCloseGivesUpACallerInTheDriver")},
		{"forgets what has queued behind a caller that sends", direct, edits{
			{"\t\tgo d.send()\n\t\treturn\n", ""},
		}, dispatcher("TestCallsBehindACallerInTheDriver")},
		{"counts a caller as a sender whose goroutine a hook has ended", direct, edits{
			{"\tdefer d.endDirectly() // Even if a hook of the driver ends the goroutine.\n\tb.run(d)\n",
				"\tb.run(d)\n\td.endDirectly()\n"},
		}, dispatcher("TestCallsBehindACallerInTheDriver")},
		{"has releases wait for acquires", queued, edits{
			{"if r.AlwaysSend || r.Contained {", "if false {"},
		}, dispatcher("TestUrgentCallsGoFirst")},
		{"sends calls for nobody before others", queued, edits{
			{"return !r.leavesBefore(until)", "return true || r.leavesBefore(until)"},
		}, dispatcher("TestCallsForNobodyGoLast")},
		{"gives outcomes to the wrong callers", batch, edits{
			{"d.batcher.RunBatch(b, b.toSend, b.report)",
				"d.batcher.RunBatch(b, b.toSend, func(i int, o backend.Outcome) {\n" +
					"\t\t\tb.report(len(b.toSend)-1-i, o)\n\t\t})"},
		}, histories},
		{"gives up permits that were surely not put back", "permits.go", edits{
			{"return err != nil && !backend.MayHaveRun(err) &&\n\t\t!errors.Is(err, backend.ErrClosed)",
				"return errors.Is(err, ErrUnavailable) &&\n\t\t!errors.Is(err, backend.ErrClosed)"},
		}, finder{dir: "hasptest/primitives", test: "TestReleaseWaitsForAConnection"}},
		{"does not put back what a caller who has left has taken", "permits.go", edits{
			{"\t\ttaken = p.n\n", ""},
		}, propertiesOf("Semaphore")},
	}
}
