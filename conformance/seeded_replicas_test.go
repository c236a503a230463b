package conformance_test

// replicaSeeds are bugs in the waiting for replicas.
func replicaSeeds() []seed {
	const (
		batch        = "internal/dispatch/batch.go"
		replicasFile = "extend/replicas.go"
	)
	inPrimitives := func(test string) finder { return finder{dir: "primitives", test: test} }
	return []seed{
		{"does not count the replicas that acknowledged", batch, edits{
			{"case err == nil && acked < b.replicas:", "case err == nil && acked < 0:"},
		}, inPrimitives("TestTryLockWithTooFewReplicas")},
		{"is content with one replica", batch, edits{
			{"case err == nil && acked < b.replicas:", "case err == nil && acked < 1:"},
		}, finder{dir: "primitives/internal/dispatch", test: "TestReplicasAreCounted"}},
		{"minds no WAIT that failed", batch, edits{
			{"shortage, err = err, nil", "err = nil"},
		}, inPrimitives("TestWaitFails")},
		{"takes a failed WAIT for a script that did not run", batch, edits{
			{"\tcase errors.Is(err, backend.ErrReplicas):\n\t\tshortage, err = err, nil // The script ran.\n", ""},
		}, inPrimitives("TestWaitFails")},
		{"keeps a lock that too few replicas have", leaseFile, edits{
			{"\t\t_ = h.release(ctx, 0) // What fails goes on in the background.\n", ""},
		}, inPrimitives("TestTryLockWithTooFewReplicas")},
		{"gives such a lock back by another owner", leaseFile, edits{
			{"\t\t_ = h.release(ctx, 0) // What", "\t\th.Owner += \"0\"\n\t\t_ = h.release(ctx, 0) // What"},
		}, inPrimitives("TestTryLockWithTooFewReplicas")},
		{"tries again as the owner whose grant was undone", takeFile, edits{
			{"if err != nil && used {", "if err != nil && used && !errors.Is(err, backend.ErrReplicas) {"},
		}, inPrimitives("TestReplicaComesBack")},
		{"tries again without a pause", waitFile, edits{
			{"length = undoneBackoff.after(a.Undone)", "length = 0"},
		}, inPrimitives("TestLockWithTooFewReplicas")},
		{"tries again after equal pauses", waitFile, edits{
			{"undoneBackoff.after(a.Undone)", "undoneBackoff.after(1)"},
		}, inPrimitives("TestLockWithTooFewReplicas")},
		{"does not try again", "extend/wait.go", edits{
			{"return wait.Answer{Undone: w.undone, RetryIn: -1, Moved: w.moved()}, nil", "return wait.Answer{}, err"},
		}, inPrimitives("TestReplicaComesBack")},
		{"tries again for ever where WAIT is unknown", replicasFile, edits{
			{"return !denied && !errors.Is(err, backend.ErrNotSupported)", "return !denied || err != nil"},
		}, inPrimitives("TestWaitFails")},
		{"has its own idea of the timeout", leaseFile, edits{
			{"h.replicas.timeoutUnder(ctx)", "time.Minute + 0*h.replicas.timeoutUnder(ctx)"},
		}, inPrimitives("TestTryLockWithTooFewReplicas")},
		{"waits for longer than the context lasts", replicasFile, edits{
			{"return min(r.timeout, left-left/4)", "return max(r.timeout, left-left)"},
		}, inPrimitives("TestShortDeadlineLeavesTimeForReplicas")},
		{"lets all calls wait for replicas at a time", "internal/dispatch/dispatch.go", edits{
			{"maxWaiting = 8", "maxWaiting = 1000"},
		}, inPrimitives("TestReplicasAreNotWaitedForByOthers")},
		{"sends a call that was withdrawn before its turn", batch, edits{
			{"\tif !call.Claim.Take() {\n\t\treturn\n\t}\n", "\tcall.Claim.Take()\n"},
		}, finder{dir: "primitives/internal/dispatch", test: "TestReplicasOutOfTurn"}},
		{"keeps its turn", batch, edits{
			{"\t\tdefer func() { <-d.waiting }()\n", ""},
		}, finder{dir: "primitives/internal/dispatch", test: "TestReplicasHoldUpNobody"}},
	}
}
