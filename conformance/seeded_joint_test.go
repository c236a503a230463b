package conformance_test

// jointSeeds are bugs of what several locks have in common that are held as one.
func jointSeeds() []seed {
	const (
		joint = "extend/joint.go"
		multi = "multilock.go"
		red   = "redlock.go"
	)
	found := func(test string) finder { return finder{dir: "hasptest/primitives", test: test} }
	return []seed{
		{"keeps locks while it waits for another", multi, edits{
			{"if err != nil {\n\t\t_ = extend.ReleaseAll(", "if err != nil && !isRefusal(err) {\n\t\t_ = extend.ReleaseAll("},
		}, found("TestMultiLockHasOneDeadline")},
		{"keeps locks after an error", multi, edits{
			{"if err != nil {\n\t\t_ = extend.ReleaseAll(", "if isRefusal(err) {\n\t\t_ = extend.ReleaseAll("},
		}, found("TestMultiLockReleasesWhatIsInDoubt")},
		{"keeps a lock for as long as another server says nothing", multi, edits{
			{"context.WithTimeout(ctx, partTimeout)", "context.WithCancel(ctx)"},
		}, found("TestMultiLockIsBoundedPerLock")},
		{"asks for all locks while a server is down", multi, edits{
			{"\t\t\treturn errs[a.first]\n", "\t\t\tfirst := a.first\n\t\t\ta.first = -1\n\t\t\treturn errs[first]\n"},
		}, found("TestMultiLockInOutages")},
		{"gives up when a server is silent", multi, edits{
			{"case !isSilence(err):", "case err != nil:"},
		}, found("TestMultiLockInOutages")},
		{"takes a key twice for two", multi, edits{{"seen[k] = true", "seen[k] = false"}}, found("TestMultiLockRefusesBadLocks")},
		{"takes half for a majority", red, edits{{"len(clients)/2 + 1", "len(clients) / 2"}}, found("TestRedLockNeedsAMajority")},
		{"keeps a minority", red, edits{
			{"_ = extend.ReleaseAll(ctx, leases, a.timeout) // Unanswered releases continue in the background.", ""},
		}, found("TestRedLockNeedsAMajority")},
		{"lets a silent node take its time", red, edits{
			{"ctx, cancel := context.WithTimeout(ctx, l.timeout)\n\tdefer cancel()\n\tleases,", "ctx, cancel := context.WithCancel(ctx)\n\tdefer cancel()\n\tleases,"},
		}, found("TestRedLockIsBoundedPerNode")},
		{"has a majority wait for all", red, edits{
			{"time.AfterFunc(max(time.Since(began), leastStraggling), cancel)", "_ = began"},
		}, found("TestRedLockIsBoundedPerNode")},
		{"cuts the other nodes off when a minority failed", red, edits{
			{"len(l.nodes)-l.need+1 {", "len(l.nodes)-l.need {"},
		}, found("TestRedLockWaitsForItsMajority")},
		{"releases a node without a time-out", joint, edits{
			{"if timeout == 0 {", "if timeout >= 0 {"},
		}, found("TestRedLockUnlockIsBoundedPerNode")},
		{"never asks a lost node again", red, edits{{"if l.renewed {\n\t\tconfig", "if false {\n\t\tconfig"}}, found("TestRedLockIsRepaired")},
		{"goes on after the first repair only", joint, edits{
			{"\tj.watch(part, l)\n\treturn nil\n", "\treturn nil\n"},
		}, found("TestRedLockIsRepaired")},
		{"is saved by a part that comes too late", joint, edits{
			{"if _, lost := j.remaining(); lost != nil || !j.set(part, l) {", "if !j.set(part, l) {"},
		}, finder{dir: "primitives/extend", test: "TestJointIsNotSavedByALatePart"}},
		{"trusts the longest part", joint, edits{
			{"rest[need-1] > 0", "rest[0] > 0"}, {"return rest[need-1], nil", "return rest[0], nil"},
		}, found("TestRedLockIsLostWithItsMajority")},
		{"notices no loss", joint, edits{
			{"if _, lost := j.remaining(); lost == nil {\n\t\t\tj.set", "if true {\n\t\t\tj.set"},
		}, found("TestMultiLockIsLostWithAPart")},
		{"keeps the rest of what was lost", joint, edits{
			{"go func() { _ = j.releaseParts(context.Background(), releaseWait{}) }()", ""},
		}, found("TestMultiLockIsLostWithAPart")},
		{"calls a part the whole", joint, edits{{"if held >= j.config.Need {", "if held > 0 {"}}, found("TestMultiLockUnlockProvesAllParts")},
		{"says that a closed client's lock was lost", joint, edits{
			{"errors.Is(part.Err(), backend.ErrClosed) {", "errors.Is(part.Err(), backend.ErrReply) {"},
		}, found("TestMultiLockEndsWithAClient")},
		{"re-enters no part", joint, edits{
			{"outer = part.state.group.target.reentry(outer)", "_ = part.state.group.target.reentry(outer)"},
		}, found("TestMultiLockReenters")},
	}
}
