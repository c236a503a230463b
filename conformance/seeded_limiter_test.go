package conformance_test

// limiterSeeds are bugs in the rate limiter.
func limiterSeeds() []seed {
	const (
		attempt = "rateattempt.go"
		acquire = "internal/script/rate_acquire.lua.go"
		release = "internal/script/rate_release.lua.go"
		set     = "internal/script/rate_set.lua.go"
	)
	unit := func(test string) finder { return finder{dir: "primitives", test: test} }
	return []seed{
		{"takes permits of a rate that are not there", acquire, edits{
			{"if left < need then", "if false then"},
		}, historiesOf("RateLimiter")},
		{"counts no grants", acquire, edits{
			{"redis.call('zadd', grants, late, grant)\n", ""},
		}, propertiesOf("RateLimiter")},
		{"frees permits a millisecond early", acquire, edits{
			{"- free, early - limit.interval, all())", "- free, late - limit.interval, all())"},
		}, finder{dir: "conformance/matrix/limiter", test: "TestTimesAreRounded"}},
		{"makes grants a millisecond early", acquire, edits{
			{"redis.call('zadd', grants, late, grant)", "redis.call('zadd', grants, early, grant)"},
		}, propertiesOf("RateLimiter")},
		{"says when one permit is free to who needs many", acquire, edits{
			{"  local target = need\n", "  local target = left + 1\n"},
		}, propertiesOf("RateLimiter")},
		{"believes in grants of the future", acquire, edits{
			{"settle(grants, late)\n", ""},
		}, onEmbedded("RateLimiterClockIsSetBack")},
		{"believes in a value whose grants are lost", acquire, edits{
			{"if more < target - left and steps < 1000 then", "if false then"},
		}, onEmbedded("RateLimiterHealsWhatIsLost")},
		{"lets a limiter end that refuses", acquire, edits{
			{"  if limit.alive > 0 then\n    live(limiter, valued, grants, limit)\n  end\n", ""},
		}, propertiesOf("RateLimiter")},
		{"keeps what each client that ever was has taken", acquire, edits{
			{"ttl = limit.interval + 2", "ttl = 0"},
		}, onEmbedded("RateLimiterHasOwnPermitsForEachClient")},
		{"releases permits of a rate without a message", release, edits{
			{"redis.call(publish, changed, string.format('%.0f', after))", "local _ = publish"},
		}, propertiesOf("RateLimiter")},
		{"releases more permits than were taken", release, edits{
			{"free + back + given - rest", "free + back + returned"},
		}, propertiesOf("RateLimiter")},
		{"forgets what was granted at another rate", set, edits{
			{"alive)}\nlocal _, held = walk(grants, 0, all(), all(), all())", "alive)}\nredis.call('del', grants)\nlocal held = 0"},
		}, propertiesOf("RateLimiter")},
		{"wakes all who wait at each client", attempt, edits{
			{"spare := 2 * min(most, maxPermits/2)", "spare := maxPermits * min(most, 1)"},
		}, unit("TestRateLimiterWakesFewAtOnce")},
		{"offers nobody what a grant has left", attempt, edits{
			{", Free: int(min(result.Left, int64(spare)))", ""},
		}, unit("TestRateLimiterWakesFewAtOnce")},
		{"waits for no fewer permits than the first needs", attempt, edits{
			{"Least: int64(least), ", ""},
			{"\tvar least, most int\n", "\tvar most int\n"},
			{"least, most = a.client", "_, most = a.client"},
		}, unit("TestRateLimiterServesMixedNeeds")},
		{"polls instead of waiting by time", attempt, edits{
			{"RetryIn: result.Wait, ", ""},
		}, unit("TestRateLimiterServesAll")},
	}
}
