package conformance_test

// fairSeeds are bugs in the fair lock, and in what is there for queues on the server.
func fairSeeds() []seed {
	const (
		fair    = "fairlock.go"
		acquire = "internal/script/fair_acquire.lua.go"
		release = "internal/script/fair_release.lua.go"
		many    = "internal/script/fair_release_all.lua.go"
		force   = "internal/script/fair_force_release.lua.go"
	)
	machines := propertiesOf("FairLock")
	odd := func(test string) finder { return finder{dir: "conformance/matrix/fair", test: test} }
	return []seed{
		{"grants out of turn", acquire, edits{{"(first == owner or not first)", "true"}}, machines},
		{"puts who comes before the others", acquire, edits{{"'rpush', queue, owner", "'lpush', queue, owner"}}, machines},
		{"passes all the dead by one script", acquire, edits{{"while #dead < 1000 do", "while true do"}}, odd("TestDeadArePassedByTheThousand")},
		{"lowers scores by whole shares of the dead", acquire, edits{
			{"math.max(0, math.min((300000), left))", "(300000)"},
		}, odd("TestDeadLowerNoScoreByWhatHasPassed")},
		{"keeps the later of two places", acquire, edits{{"queue, -1, waiter)", "queue, 1, waiter)"}}, odd("TestHealingKeepsTheFirstPlace")},
		{"never passes the dead", acquire, edits{{"deadline - now > 0 or", "true or"}}, machines},
		{"takes who lives for dead a second early", acquire, edits{{"deadline - now > 0 or", "deadline - now > 1000 or"}}, machines},
		{"keeps the deadlines that a clock set back has left", acquire, edits{{"if late then\n", "if false then\n"}}, odd("TestClockSetBack")},
		{"gives all waiters the timeout of the first when the clock is set back", acquire, edits{
			{"deadline .. string.match(fields[i + 1], ' %d+$')", "now + 1000 .. ' 1000'"},
		}, odd("TestClockSetBack")},
		{"leaves the dead in the queue", acquire, edits{
			{"\nfor _, waiter in ipairs(dead) do", "\nfor _, waiter in ipairs({}) do"},
			{"  for _, waiter in ipairs(dead) do", "  for _, waiter in ipairs({}) do"},
		}, machines},
		{"does not wake who is first behind the dead", acquire, edits{{"if not held and #dead > 0 then", "if false then"}}, machines},
		{"never moves a deadline", acquire, edits{
			{"redis.call('hset', deadlines, owner", "redis.call('hsetnx', deadlines, owner"},
		}, machines},
		{"does not lower the scores behind the dead", acquire, edits{
			{"lower(timeouts, amount, {}) end\n  if first", "end\n  if first"}, {"lower(timeouts, amount, {}) end\nif not", "end\nif not"},
		}, machines},
		{"does not raise the scores", acquire, edits{{"< (300000) * 0.9", "< (300000) * 0"}}, machines},
		{"tells how long the holder has, not the dead", acquire, edits{{"return {false, left + math.max(", "return {false, math.max("}}, machines},
		{"does not lower the scores behind a waiter that leaves", release, edits{{"lower(timeouts, amount, amounts)", ""}}, machines},
		{"lowers the scores before a waiter that leaves", release, edits{{"amount, amounts)", "amount, {})"}}, machines},
		{"wakes by a release the second", release, edits{{"wake(first)", "wake(redis.call('lindex', queue, 1) or first)"}}, machines},
		{"wakes nobody by a release", release, edits{{"if first then", "if first and not holds then"}}, historiesOf("FairLock")},
		{"wakes nobody when the first leaves", release, edits{{"if first then", "if first and holds then"}}, machines},
		{"wakes nobody by the release of what has expired", release, edits{
			{"if first then", "if first and (holds or redis.call('lpos', queue, next(leavers))) then"},
		}, machines},
		{"wakes by a release, and does not free", release, edits{{"if holds then redis.call('del', lock)", "if holds then redis.call('hlen', lock)"}}, machines},
		{"keeps the place of one who leaves a held lock", release, edits{
			{"if last < 0 then", "if last < 0 or redis.call('hlen', lock) > 0 then"},
		}, machines},
		{"wakes nobody by a release of many", many, edits{{"wake(first)", "first = first"}}, machines},
		{"wakes nobody by force", force, edits{{"if first then", "if false then"}}, machines},
		{"queues who only tries", fair, edits{{"leasableFairLock{l, nil}", "leasableFairLock{l, &l.waiterTimeout}"}}, machines},
		{"listens to the channel of another", fair, edits{{`l.turn + ":" + owner`, `l.turn + ":" + owner[1:]`}}, machines},
		{"does not try within its timeout", fair, edits{{"return min(wait, waiterTimeout/3)", "return wait"}}, machines},
		{"does not leave the queue", takeFile, edits{{"\t\ta.leave()\n", ""}}, machines},
		{"keeps a place that it got when its caller had left", leaseFile, edits{
			{"err == nil && (answer.Granted || answer.Queued)", "err == nil && answer.Granted"},
			{"took || h.queued", "took"},
		}, machines},
		{"gives up a place with the lease", leaseFile, edits{
			{"max(h.object.core.keeper.MayLast(&h.Entry), h.source.place)", "h.source.terms.Lease"},
		}, finder{dir: "hasptest/primitives", test: "TestFairLockLeavesAfterALongOutage"}},
		{"does not hurry when it is closed", "extend/core.go", edits{
			{"\tc.orphans.hurry()\n", ""},
		}, finder{dir: "hasptest/primitives", test: "TestCloseGivesBackAtOnce"}},
	}
}
