package conformance_test

// rightsSeeds are bugs in what follows from a right that is lacking, or from a server that takes no writes.
func rightsSeeds() []seed {
	const scripts = "internal/script/"
	changes := finder{dir: "conformance/matrix/rights", test: "TestRefusedCommandChangesNothing"}
	asked := finder{dir: "conformance/matrix/rights", test: "TestReleaseRightsAreAskedOnce", runs: 1}
	return []seed{
		{"puts permits back that it may not take out", scripts + "permit_release.lua.go", edits{
			{"redis.acl_check_cmd('zrem', leases)", "true"},
		}, changes},
		{"takes permits that it may not lend", scripts + "permit_acquire.lua.go", edits{{"redis.acl_check_cmd('zadd', leases)", "true"}}, changes},
		{"settles grants of a rate that it may not announce", scripts + "rate_release.lua.go", edits{
			{"redis.acl_check_cmd(publish, changed)", "true"},
		}, changes},
		{"takes a lock that it may not let expire", scripts + "lock_acquire.lua.go", edits{
			{"redis.acl_check_cmd('pexpire', lock)", "true"},
		}, changes},
		{"takes a lock that it may not release", scripts + "lock_acquire.lua.go", edits{
			{"redis.acl_check_cmd(publish, released)", "publish"},
		}, finder{dir: "conformance/matrix/repro", test: "TestNoChannels"}},
		{"takes a key of another kind for no answer", "leasekind.go", edits{
			{"\t\tcase -1:\n\t\t\tresult[i] = extend.OtherKind\n", ""},
		}, finder{dir: "conformance/matrix/repro", test: "TestOverwrittenKeyIsLostAtTheNextRenewal"}},
		{"takes a key that it may not read for one of another kind", scripts + "lock_renew.lua.go", edits{
			{"and -1 or -2", "and -1 or -1"},
		}, finder{dir: "conformance/matrix/repro", test: "TestRenewalThatMayNotLookLosesNothing"}},
		{"drops releases that may not look at the key", scripts + "lock_release_all.lua.go", edits{
			{"status[i] = fault(held)", "status[i] = held == 0 and 0 or -1"},
		}, finder{dir: "conformance/matrix/repro", test: "TestReleasesThatMayNotLookAreRepeated"}},
		{"takes a lock without the right to look whether it holds it", scripts + "lock_acquire.lua.go", edits{
			{"redis.acl_check_cmd('hexists', lock)", "true"},
		}, changes},
		{"never asks for the rights of a release", "extend/rights.go", edits{{"return !noted", "return noted"}}, asked},
		{"does not ask again after a refused release", "extend/rights.go", edits{{"\to.core.rights.Delete(o.rights)\n", ""}}, asked},
		{"repeats while it closes what is denied", orphanFile, edits{
			{"(errors.Is(err, backend.ErrNoPermission) || errors.Is(err, backend.ErrNotSupported)) && all.core.isClosed(),", ""},
		}, finder{dir: "conformance/matrix/repro", test: "TestCloseGivesUpWhatIsDenied"}},
		{"gives up the waiting for a full server", "extend/wait.go", edits{
			{"errors.As(err, &server) && backend.RefusesWrites(server.Code)", "errors.As(err, &server) && false"},
		}, finder{dir: "hasptest/primitives", test: "TestLockWaitsThroughAnOutage"}},
		{"gives up the waiting after a late grant", "extend/wait.go", edits{
			{" || errors.Is(err, ErrLost))", ")"},
		}, finder{dir: "hasptest/primitives", test: "TestLockWaitsThroughLateGrants"}},
	}
}
