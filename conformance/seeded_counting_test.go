package conformance_test

// countingSeeds are bugs in counting semaphores: in who is let in and when, what ends, and who is woken.
func countingSeeds() []seed {
	const (
		acquire = "internal/script/counting_acquire.lua.go"
		release = "internal/script/counting_release.lua.go"
		renew   = "internal/script/counting_renew.lua.go"
		arrival = "internal/script/arrival_acquire.lua.go"
		leave   = "internal/script/arrival_release.lua.go"
		many    = "internal/script/arrival_release_all.lua.go"
		leases  = "countingleases.go"
	)
	histories, properties := historiesOf("CountingSemaphore"), propertiesOf("CountingSemaphore")
	queues := propertiesOf("FairCountingSemaphore")
	crowds := func(test string) finder { return finder{dir: "conformance/matrix/crowds", test: test} }
	refreshes := onEmbedded("CountingSemaphoreRefreshes")
	last := func(what string) finder {
		return finder{dir: "conformance/matrix/counting", test: "TestHoldLastsItsLastMillisecond/.*" + what}
	}
	return []seed{
		{"lets one more in than the limit", acquire, edits{{"if room <= 0 then", "if room < 0 then"}}, histories},
		{"counts those whose holds have ended", acquire, edits{
			{"redis.call('zcount', semaphore, now, '+inf')", "redis.call('zcard', semaphore)"},
		}, properties},
		{"tells when the last hold ends", acquire, edits{
			{"redis.call('zrangebyscore', semaphore, now, '+inf', 'withscores', 'limit', over, 1)", "redis.call('zrange', semaphore, -1, -1, 'withscores')"},
		}, properties},
		{"ends the key with the newest hold", acquire, edits{
			{"math.max(ends, -tonumber(place[2] or 0), tonumber(hold[2] or 0))", "ends"},
		}, properties},
		{"takes a name of which a cluster has two slots", "extend/object.go", edits{
			{"if sound || !o.core.can.Cluster {", "if sound || true {"},
		}, finder{dir: "hasptest/primitives", test: "TestNamesWithoutAHashTag"}},
		{"wakes nobody by the release of a slot", release, edits{{"if held then", "if false then"}}, histories},
		{"says that a hold was released which had ended", release, edits{
			{"tonumber(ends) >= now", "now"},
		}, properties},
		{"ends a hold a millisecond early when it is released", release, edits{{">= now", "> now"}}, last("Release")},
		{"ends a hold a millisecond early when many are released", "internal/script/counting_release_all.lua.go", edits{
			{"tonumber(ends) >= now", "tonumber(ends) > now"},
		}, last("ReleaseAll")},
		{"ends a hold a millisecond early when it is renewed", renew, edits{
			{"tonumber(ends) >= now", "tonumber(ends) > now"},
		}, last("Refresh")},
		{"ends a hold by arrival a millisecond early when it is released", leave, edits{
			{"tonumber(score) >= now", "tonumber(score) > now"},
		}, last("Release")},
		{"ends a hold by arrival a millisecond early when many are released", many, edits{
			{"tonumber(score) >= now", "tonumber(score) > now"},
		}, last("ReleaseAll")},
		{"renews what has ended", renew, edits{{"tonumber(ends) >= now then", "now then"}},
			finder{dir: "conformance/matrix/counting", test: "TestEndedHoldIsNotRenewed"}},
		{"lets in by arrival out of turn", arrival, edits{{"(first == owner or not first)", "true"}}, queues},
		{"never passes the dead of a semaphore", arrival, edits{{"tonumber(score) <= -now", "score"}}, queues},
		{"takes who waits for a slot for dead a second early", arrival, edits{
			{"tonumber(score) <= -now", "tonumber(score) <= -now - 1000"},
		}, queues},
		{"keeps a crashed waiter for the step of a clock", arrival, edits{
			{"late and corrected(semaphore, queue, now) or {}", "{}"},
		}, finder{dir: "conformance/matrix/counting", test: "TestClockSetBack"}},
		{"gives a number at each try", arrival, edits{
			{"waiter_timeout and not redis.call('zscore', queue, owner)", "waiter_timeout"},
		}, queues},
		{"numbers by the counter alone", arrival, edits{
			{"math.max(previous, tonumber(behind[2] or 0))", "previous"},
		}, onEmbedded("FairCountingSemaphoreGoesOnWithoutItsCounter")},
		{"takes who has lost its score for dead", arrival, edits{
			{"if not score or tonumber(score)", "if score and tonumber(score)"},
		}, queues},
		{"keeps those for ever who have lost their score", arrival, edits{
			{"first ~= owner and not redis.call('zscore', semaphore, first)", "false"},
		}, queues},
		{"keeps the dead whose queue has ended", arrival, edits{
			{"redis.call('zcard', queue) == 0", "false"},
		}, onEmbedded("FairCountingSemaphoreTryAcquirePassesNobody")},
		{"does not wake the next while there is room", arrival, edits{{"(room > 1 or soon)", "soon"}}, queues},
		{"does not wake the next when a hold ends soon", arrival, edits{{"(room > 1 or soon)", "room > 1"}}, queues},
		{"does not tell when the next hold ends to who is let in", acquire, edits{
			{"local wait = room == 1 and", "local wait = false and"},
		}, crowds("TestWaitersBehindACrashAreInAtEachEnd")},
		{"wakes nobody when the first leaves the queue of a semaphore", leave, edits{
			{" or waits and survey(semaphore, queue, now, owner) == owner", ""},
		}, crowds("TestWaitersBehindOneThatLeaves")},
		{"passes the dead of a full semaphore without a message", arrival, edits{
			{"if #dead > 0 and first and first ~= owner then", "if room > 0 and #dead > 0 then"},
		}, finder{dir: "hasptest", test: "TestWaiterBehindACrashedWaiter", runs: 1}},
		{"wakes nobody when a holder leaves", leave, edits{{"wake(first)", "first = first"}}, historiesOf("FairCountingSemaphore")},
		{"keeps the place of one who leaves a semaphore", leave, edits{
			{"redis.call('zrem', queue, owner)", "redis.call('zcard', queue)"},
		}, queues},
		{"wakes nobody by a release of many slots", many, edits{{"wake(first)", "first = first"}}, queues},
		{"queues who only tries for a slot", "countingsemaphore.go", edits{
			{"leasableByArrival{s, nil}", "leasableByArrival{s, &s.waiterTimeout}"},
		}, queues},
		{"forgets how many more may come in", leases, edits{{", Free: int(result.Free),", ","}},
			finder{dir: "hasptest/primitives", test: "TestCountingSemaphoreFollowsTheDead"}},
		{"does not tell the holder of a refresh", "internal/renew/refresh.go", edits{
			{"k.settleOne(e, status, sent, now)", "k.settleOne(e, Failed, sent, now)"},
		}, refreshes},
		{"counts a refresh from its answer", "internal/renew/refresh.go", edits{
			{"if k.settleRefresh(", "sent = k.now()\n\tif k.settleRefresh("},
		}, finder{dir: "hasptest/primitives", test: "TestCountingSemaphoreRefreshCountsFromItsRequest"}},
		{"does not tell that the holder was dropped", "extend/refresh.go", edits{
			{"case ended == nil:", "case true:"},
		}, onEmbedded("CountingSemaphoreRefreshReportsTheDropped")},
	}
}
