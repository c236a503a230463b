package conformance_test

// limiterSeeds are bugs in the rate limiter.
func limiterSeeds() []seed {
	const (
		attempt = "rateattempt.go"
		acquire = "internal/script/rate_acquire.lua.go"
		release = "internal/script/rate_release.lua.go"
		set     = "internal/script/rate_set.lua.go"
	)
	unit := func(test string) finder { return finder{dir: "hasptest/primitives", test: test} }
	changed := func(test string) finder { return finder{dir: "conformance/matrix/limiter", test: test} }
	return []seed{
		{"takes permits of a rate that are not there", acquire, edits{
			{"if left < need then", "if false then"},
		}, historiesOf("RateLimiter")},
		{"counts no grants", acquire, edits{
			{"redis.call('zadd', grants, late, grant)\n", ""},
		}, propertiesOf("RateLimiter")},
		{"frees permits a millisecond early", acquire, edits{
			{"early - limit.interval, need +", "late - limit.interval, need +"},
		}, finder{dir: "conformance/matrix/limiter", test: "TestTimesAreRounded"}},
		{"makes grants a millisecond early", acquire, edits{
			{"redis.call('zadd', grants, late, grant)", "redis.call('zadd', grants, early, grant)"},
		}, propertiesOf("RateLimiter")},
		{"says when one permit is free to who needs many", acquire, edits{
			{"  local target = need\n", "  local target = left + 1\n"},
		}, propertiesOf("RateLimiter")},
		{"believes in grants of the future", acquire, edits{
			{"if not last or at <= late then", "if true then"},
		}, changed("TestClockSetBackOfManyGrants")},
		{"believes in a value whose grants are lost", acquire, edits{
			{"redis.call('set', valued, text_of(limit, back + more), 'keepttl')", "local _ = text_of"},
		}, onEmbedded("RateLimiterHealsWhatIsLost")},
		{"lets a limiter end that refuses", acquire, edits{
			{"  if limit.alive > 0 then\n    redis.call('pexpire', limiter, limit.alive)\n  end\n  return {0", "  return {0"},
		}, propertiesOf("RateLimiter")},
		{"keeps what each client that ever was has taken", acquire, edits{
			{"return math.max(limit.interval, 3600000) + 2", "return 0"},
		}, onEmbedded("RateLimiterHasOwnPermitsForEachClient")},
		{"keeps each limiter that it has ever made", "ratelimiter.go", edits{
			{"max(l.rate.Interval, idleLimiter)", "0*idleLimiter"},
		}, changed("TestMadeOnDemandEnds")},
		{"forgets grants within a long interval", "ratelimiter.go", edits{
			{"max(l.rate.Interval, idleLimiter)", "idleLimiter"},
		}, changed("TestMadeOnDemandEnds")},
		{"reckons a client's permits by a rate that another has changed", acquire, edits{
			{"kept and not limit.own", "kept"},
			{"limit.own and held or limit.rate - held", "limit.rate - held"},
		}, changed("TestAnotherClientChangesOwnRates")},
		{"keeps a client's permits for an interval that another makes longer", acquire, edits{
			{"math.max(limit.interval, 3600000) + 2", "limit.interval + 2"},
		}, changed("TestAnotherClientChangesOwnRates")},
		{"looks at a thousand grants to say when there are enough", acquire, edits{
			{"number, target - left if", "number, math.min(1000, target - left) if"},
			{"permits break until true\n  local wait = 1", "permits break until true more = target - left\n  local wait = 1"},
		}, changed("TestRetryInOfManyGrants")},
		{"settles a thousand grants of the future at a time", acquire, edits{
			{"'(%.0f', late), '+inf')", "'(%.0f', late), '+inf', 'limit', 0, 1000)"},
		}, changed("TestClockSetBackOfManyGrants")},
		{"releases permits of a rate without a message", release, edits{
			{"redis.call(publish, changed, string.format('%.0f', after))", "local _ = publish"},
		}, propertiesOf("RateLimiter")},
		{"releases more permits than were taken", release, edits{
			{"held + back + given - rest", "held + back + returned"},
		}, propertiesOf("RateLimiter")},
		{"forgets what was granted at another rate", set, edits{
			{"local known, held =", "redis.call('del', grants)\nlocal known, held ="},
		}, propertiesOf("RateLimiter")},
		{"wakes all who wait at each client", attempt, edits{
			{"spare := 2 * min(most, maxPermits/2)", "spare := maxPermits * min(most, 1)"},
		}, unit("TestRateLimiterWakesFewAtOnce")},
		{"offers nobody what a grant has left", attempt, edits{
			{", Free: int(min(result.Left, int64(spare)))", ""},
		}, unit("TestRateLimiterWakesFewAtOnce")},
		{"waits for no fewer permits than the first needs", attempt, edits{
			{"send(ctx, least, spare)", "send(ctx, 0, spare)"},
			{"\tvar least, most int\n", "\tvar most int\n"},
			{"least, most = a.client", "_, most = a.client"},
		}, unit("TestRateLimiterServesMixedNeeds")},
		{"polls instead of waiting by time", attempt, edits{
			{"RetryIn: result.Wait, ", ""},
		}, unit("TestRateLimiterServesAll")},
	}
}
