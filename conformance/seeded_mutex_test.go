package conformance_test

// mutexSeeds are bugs of the mutex, and of the line in which its waiters wait.
func mutexSeeds() []seed {
	const (
		mutex    = "mutex.go"
		line     = "extend/line.go"
		lineFile = "internal/line/line.go"
		beatFile = "internal/line/beat.go"
		acquire  = "internal/script/mutex_acquire.lua.go"
		beat     = "internal/script/mutex_beat.lua.go"
		release  = "internal/script/mutex_release.lua.go"
		many     = "internal/script/mutex_release_all.lua.go"
		force    = "internal/script/mutex_force_release.lua.go"
	)
	machines := propertiesOf("Mutex")
	in := func(test string) finder { return finder{dir: "conformance/matrix/mutex", test: test} }
	return []seed{
		{"believes in a grant from its message on", lineFile, edits{
			{"l.settle(me, &grant{token, started})", "l.settle(me, &grant{token, time.Now()})"},
		}, machines},
		{"believes in a whole lease after a grant by a release", line, edits{
			{"keeper.Adopt(&h.Entry, started, lasts,", "keeper.Adopt(&h.Entry, started, h.Lease,"},
		}, machines},
		{"believes in a beat that extends nothing", beat, edits{{"local lease = tonumber(keep) redis", "local lease = 0 redis"}}, machines},
		{"ends a longer hold by a late beat", beat, edits{{"math.max(lease, redis.call('pttl', holder))", "lease"}},
			finder{dir: "conformance/matrix/repro", test: "TestNoScriptShortensAnotherCallsHold/Mutex"}},
		{"finds a grant whose token is lost, and says none", beat, edits{
			{"mine = grant or present_token(token, tokenttl)", "mine = grant or redis.call('get', token)"},
		}, in("TestLostTokenIsReplaced")},
		{"lets a release grant for a whole sign from now on", release, edits{
			{"lasts, stamp = wait - age, stamp_", "lasts, stamp = wait, stamp_"},
		}, machines},
		{"grants by a release to the last", release, edits{
			{"redis.call('zrange', queue, #dead", "redis.call('zrevrange', queue, #dead"},
		}, machines},
		{"grants by a beat to the last", beat, edits{
			{"redis.call('zrange', queue, #dead", "redis.call('zrevrange', queue, #dead"},
		}, machines},
		{"tells nobody by a release", release, edits{
			{"redis.call(publish, granted .. ':' .. group, message)", "group = group"},
		}, machines},
		{"tells nobody by a release of many", many, edits{
			{"redis.call(publish, channels[i] .. ':' .. group, message)", "group = group"},
		}, machines},
		{"frees by force, and grants it to nobody", force, edits{
			{"local _, _, more repeat ", "local _, _, more repeat redis.call('del', holder) do break end "},
		}, machines},
		{"comes back to another place", line, edits{
			{"t.leases.line.At(place, stamp)", "t.leases.line.At(1<<52-place, stamp)"},
		}, in("TestWaitersKeepTheirOrder")},
		{"lets a newcomer pass those who wait", acquire, edits{{"  if before then\n", "  if false then\n"}}, machines},
		{"puts a newcomer before the others", acquire, edits{
			{"place = math.max(time[1] * 1000000 + time[2], tonumber(last[2] or 0) + 1)",
				"place = tonumber(last[2] or time[1] * 1000000) - 1"},
		}, machines},
		{"tells the dead", release, edits{{"if 3 * age < 2 * wait then", "if wait then"}}, machines},
		{"takes who lives for dead early", release, edits{{"if 3 * age < 2 * wait then", "if 6 * age < wait then"}}, machines},
		{"forgets that a beat came", beat, edits{{"redis.call('hset', signs, unpack(fields))", ""}}, machines},
		{"queues a caller that only tries a mutex", mutex, edits{
			{"Try: leasableMutex{Mutex: m},", "Try: leasableMutex{Mutex: m, place: &end},"},
		}, machines},
		{"keeps what nobody waits for any more", lineFile, edits{{"l.Beater.Stray(words[0])", "_ = words[0]"}},
			in("TestGrantOfALostCallerIsGivenBack")},
		{"releases what it holds by a second message", lineFile, edits{
			{"if *failed != nil || me.place == 0 {", "if true {"},
		}, in("TestSecondMessageIsIgnored")},
		{"does not look for a message that was lost", beatFile, edits{
			{"		l.settle(me, &grant{token, sent.at})\n", ""},
		}, machines},
		{"does not listen to what it is told", lineFile, edits{
			{"	l.settle(me, &grant{token, started})\n", ""}, {"	started, known", "	_, known"},
			{"time.Since(started) > l.Wait*4/5", "false"},
		}, machines},
		{"beats for the first alone", beatFile, edits{{"		all = all[:first]\n", ""}, {
			"	return slices.Collect(slices.Chunk(all, ownersPerBeat))", "	return slices.Collect(slices.Chunk(all[:min(len(all), 1)], 1))",
		}}, machines},
		{"does not look when a holder's time has passed", beatFile, edits{
			{"if heldFor >= 0 && heldFor < next {", "if false {"},
		}, in("TestDeadHolderIsFollowed")},
		{"leaves a lease of a fixed length as short as it was granted", line, edits{
			{"return t.lengthen(ctx)", "return true"},
		}, in("TestFixedLeaseIsWhole")},
		{"takes its time after a beat that was lost", beatFile, edits{
			{"		l.channel.Alarm.Within(listen.Jittered(l.beatInterval() / listen.UnsubscribedPollFactor))\n", ""},
		}, in("TestLostBeatCostsNoPlace")},
	}
}
