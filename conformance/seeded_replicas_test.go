package conformance_test

// replicaSeeds are bugs in the waiting for replicas.
func replicaSeeds() []seed {
	const (
		batch        = "internal/dispatch/batch.go"
		replicasFile = "extend/replicas.go"
	)
	inPrimitives := func(test string) finder { return finder{dir: "hasptest/primitives", test: test} }
	return []seed{
		{"does not count the replicas that acknowledged", batch, edits{
			{"case err == nil && acked < b.replicas:", "case err == nil && acked < 0:"},
		}, inPrimitives("TestTryLockWithTooFewReplicas")},
		{"is content with one replica", batch, edits{
			{"case err == nil && acked < b.replicas:", "case err == nil && acked < 1:"},
		}, finder{dir: "primitives/internal/dispatch", test: "TestReplicasAreCounted"}},
		{"minds no WAIT that failed", batch, edits{
			{"return nil, err // The script ran.", "return nil, nil"},
		}, inPrimitives("TestWaitFails")},
		{"takes a failed WAIT for a script that did not run", batch, edits{
			{"return nil, err // The script ran.", "return err, nil"},
		}, inPrimitives("TestWaitFails")},
		{"keeps a lock that too few replicas have", leaseFile, edits{
			{"\t\th.undo(ctx)\n", ""},
		}, inPrimitives("TestTryLockWithTooFewReplicas")},
		{"gives such a lock back by another owner", leaseFile, edits{
			{"\t\th.undo(ctx)\n", "\t\th.Owner += \"0\"\n\t\th.undo(ctx)\n"},
		}, inPrimitives("TestTryLockWithTooFewReplicas")},
		{"looks once for what it gives back", leaseFile, edits{
			{"err := h.release(ctx, releaseWait{}); errors.Is(err, ErrNotHeld) {", "_ = h.release(ctx, releaseWait{}); false {"},
		}, inPrimitives("TestUndoneGrantIsSearchedFor")},
		{"tries again as the owner whose grant was undone", takeFile, edits{
			{"if err != nil && used {", "if err != nil && used && !errors.Is(err, backend.ErrReplicas) {"},
		}, inPrimitives("TestReplicaComesBack")},
		{"tries again without a pause", waitFile, edits{
			{"w.client.Pause(ctx, undoneBackoff.after(a.Undone))", "w.client.Pause(ctx, 0)"},
		}, inPrimitives("TestLockWithTooFewReplicas")},
		{"tries again after equal pauses", waitFile, edits{
			{"undoneBackoff.after(a.Undone)", "undoneBackoff.after(1)"},
		}, inPrimitives("TestLockWithTooFewReplicas")},
		{"does not try again", "extend/wait.go", edits{
			{"return wait.Answer{Undone: w.undone, RetryIn: -1, Moved: w.moved()}, nil", "return wait.Answer{}, err"},
		}, inPrimitives("TestReplicaComesBack")},
		{"tries again for ever where WAIT is unknown", replicasFile, edits{
			{"&& !errors.Is(err, backend.ErrNotSupported)", "|| err != nil"},
		}, inPrimitives("TestWaitFails")},
		{"has its own idea of the timeout", leaseFile, edits{
			{"r.timeoutUnder(ctx)", "time.Minute + 0*r.timeoutUnder(ctx)"},
		}, inPrimitives("TestTryLockWithTooFewReplicas")},
		{"waits for longer than the context lasts", replicasFile, edits{
			{"min(r.timeout, (left", "max(r.timeout, (left"},
		}, inPrimitives("TestShortDeadlineLeavesTimeForReplicas")},
		{"lets all calls wait for replicas at a time", "internal/dispatch/dispatch.go", edits{
			{"make(chan struct{}, maxWaiting)", "make(chan struct{}, 1000)"},
		}, inPrimitives("TestReplicasAreNotWaitedForByOthers")},
		{"sends a call that was withdrawn before its turn", batch, edits{
			{"if call.Claim.Begin() {", "if call.Claim.Begin(); true {"},
		}, finder{dir: "primitives/internal/dispatch", test: "TestReplicasOutOfTurn"}},
		{"keeps its turn", batch, edits{
			{"\t\tdefer func() { <-d.waiting }()\n", ""},
		}, finder{dir: "primitives/internal/dispatch", test: "TestReplicasHoldUpNobody"}},
	}
}
