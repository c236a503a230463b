package conformance_test

// extendSeeds are bugs of leases that are extended, and of the bound on one lock's leases.
func extendSeeds() []seed {
	const (
		refresh = "internal/renew/refresh.go"
		extend  = "extend/refresh.go"
	)
	found := func(test string) finder { return finder{dir: "hasptest/primitives", test: test, runs: 1} }
	return []seed{
		{"extends the lease that the watchdog renews", extend, edits{{"if !h.source.fixed() {", "if false {"}},
			found("TestLeaseExtendRefuses")},
		{"trusts the old lease while a shorter one is under way", refresh, edits{
			{"if e.state == stateHeld && to.length", "if false && to.length"},
		}, found("TestLeaseExtendOvertaken")},
		{"forgets an extension without an answer", refresh, edits{{"if !backend.MayHaveRun(err) {", "if true {"}},
			found("TestLeaseExtendWithoutAnAnswer")},
		{"forgets an extension that is under way", refresh, edits{{"	x.unanswered++\n", ""}, {
			"	e.extension.unanswered--\n	if k", "	if k",
		}}, found("TestLeaseExtendOvertaken")},
		{"trusts the lease's first length after it was extended", refresh, edits{
			{"		e.first = e.extension.shortest\n", ""},
		}, found("TestLeaseExtend")},
		{"repeats the release of an extended lease for its first length", refresh, edits{
			{"return max(e.Lease, e.extension.longest)", "return e.Lease"},
		}, found("TestExtendedLeaseIsReleasedAfterAnOutage")},
		{"extends some parts of a lease that the watchdog renews", "extend/joint.go", edits{
			{"cmp.Or(j.checkExtension(d), ctx.Err())", "ctx.Err()"},
		}, found("TestLeaseExtendRefuses")},
		{"waits for a silent node of a lease that it extends", "extend/joint.go", edits{
			{"if j.config.ReleaseTimeout > 0 {", "if false {"},
		}, found("TestRedLockExtend")},
		{"bounds all leases of a client alike", takeFile, edits{
			{"s.terms.MaxHold = cmp.Or(config.MaxHold, s.terms.MaxHold)", ""},
		}, found("TestLockMaxHold")},
		{"shares a hold that has another bound", leaseFile, edits{
			{"case h.MaxHold != s.terms.MaxHold:", "case false:"},
		}, found("TestLockMaxHold")},
	}
}
