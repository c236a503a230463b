package conformance_test

// permitSeeds are bugs in the permit semaphore: in what is free, whose permits are whose, when they end, who
// is woken.
func permitSeeds() []seed {
	const (
		ids     = "permitid.go"
		acquire = "internal/script/permit_acquire.lua.go"
		release = "internal/script/permit_release.lua.go"
		renew   = "internal/script/permit_renew.lua.go"
	)
	histories, machines := historiesOf("PermitSemaphore"), propertiesOf("PermitSemaphore")
	named := func(test string) finder { return finder{dir: "conformance/matrix/permits", test: test} }
	return []seed{
		{"lends permits that are not there", acquire, edits{{"local taken = left >= #ids", "local taken = true"}}, histories},
		{"keeps the permits of who crashed", acquire, edits{{"back = redis.call('zcount', leases, '-inf', now)", "back = 0"}}, machines},
		{"takes back what has ended again and again", acquire, edits{
			{"redis.call('zremrangebyscore', leases, '-inf', now)", ""},
		}, machines},
		{"leaves what has ended where it is lent again", acquire, edits{
			{"elseif back > 0 or taken then", "elseif left ~= free then"},
		}, machines},
		{"does not say when a lease ends", acquire, edits{{"math.max(1, math.ceil(ends - now))", "-1"}}, machines},
		{"does not say when the next lease ends to who is granted", acquire, edits{
			{"local first = redis.call('zrange'", "if taken then\n  return {1, left, 0}\nend\nlocal first = redis.call('zrange'"},
		}, machines},
		{"knows of a grant's own lease alone", "extend/hold.go", edits{
			{"if answer.RetryIn < time.Millisecond || answer.RetryIn > h.Lease {", "{"},
		}, finder{dir: "conformance/matrix/crowds", test: "TestWaitersBehindACrashAreInAtEachEnd"}},
		{"makes a semaphore with the leases of an old one", acquire, edits{
			{"redis.call('zremrangebyscore', leases, '-inf', '+inf')", ""},
		}, onEmbedded("PermitSemaphoreForgottenLeasesAreVoid")},
		{"makes a semaphore with the leases of its twin", acquire, edits{
			{"(redis.call('type', twin).ok == 'string')", "false"},
		}, named("TestNamesInBracesTakeNoLeases")},
		{"waits for more permits than there are", acquire, edits{
			{"if all > 0 and #ids > all then", "if false then"},
		}, named("TestMorePermitsThanThereAre")},
		{"lends beyond the end of the count", acquire, edits{
			{"if life > 0 then\n    redis", "if false then\n    redis"},
		}, onEmbedded("PermitSemaphoreLeasesEndWithTheCount")},
		{"puts permits back without a message", release, edits{
			{"redis.call(publish, released, n)", "local _ = publish"},
		}, histories},
		{"puts back some of the ids", release, edits{
			{"if whole and held < #ids then", "if false then"},
		}, onEmbedded("PermitSemaphoreIDsAreReleasedTogether")},
		{"takes an expired id", release, edits{
			{"tonumber(ends) > now", "true"},
		}, onEmbedded("PermitSemaphoreExpiredIDIsRefused")},
		{"renews what is left of a hold", renew, edits{
			{"if running(leases, ids, now) < #ids then", "if false then"},
		}, machines},
		{"sets what is free, not all", "internal/script/permit_set.lua.go", edits{
			{"tonumber(total) - taken", "tonumber(total)"},
		}, machines},
		{"has one id for all permits", ids, edits{{"_, _ = rand.Read(ids)", "_ = rand.Read"}}, histories},
		{"tells nobody of what many put back", "internal/script/permit_release_all.lua.go", edits{
			{"redis.call(publish, channels[i], n)", "redis.call(publish, channels[i] .. owner, n)"},
		}, machines},
		{"shares a hold with who needs more", takeFile, edits{
			{" && units <= int(outer.units)", ""},
		}, finder{dir: "hasptest/primitives", test: "TestPermitsReenter"}},
		{"waits for one permit in place of many", takeFile, edits{
			{"want.Need = a.units", "want.Need = 1"},
		}, finder{dir: "hasptest/primitives", test: "TestPermitWaiterForManyHoldsUpNoneForFew"}},
		{"knows only the first end of a lease", queueFile, edits{
			{"if q.returns && q.parked.Len() == parked {", "if q.returns && q.parked.Len() < parked {"},
		}, finder{dir: "primitives/internal/wait", test: "TestWaitLooksAtTooFew"}},
	}
}
