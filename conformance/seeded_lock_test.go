package conformance_test

// The files that have bugs put into them.
const (
	channelFile = "internal/wait/channel.go"
	waitFile    = "internal/wait/wait.go"
	batchFile   = "internal/renew/batch.go"
	holdFile    = "internal/renew/hold.go"
	keeperFile  = "internal/renew/keeper.go"
	lockFile    = "lock.go"
	leaseFile   = "hold.go"
	orphanFile  = "orphan.go"
	clientFile  = "client.go"
	acquireFile = "internal/script/lock_acquire.lua.go"
	releaseFile = "internal/script/lock_release.lua.go"
	renewFile   = "internal/script/lock_renew.lua.go"
	forceFile   = "internal/script/lock_force_release.lua.go"
)

// These run random schedules in virtual time, over servers made for them. Which of two goroutines
// goes first at one time is left to chance, so that some bugs show in every few runs only.
var (
	freeLock  = finder{dir: "primitives/internal/wait", test: "TestWaitNeverLeavesAFreeLock", runs: 40}
	freeUnits = finder{dir: "primitives/internal/wait", test: "TestWaitNeverLeavesFreeUnits", runs: 40}
	watchdog  = finder{dir: "primitives/internal/renew", test: "TestKeeperRandomSchedules"}
	closing   = finder{dir: "primitives", test: "TestClientCloseAmidAll", runs: 5}
)

// waitSeeds are bugs in the waiting loop, which all primitives share.
func waitSeeds() []seed {
	return []seed{
		{"does not look again when subscribed", channelFile, edits{
			{"heard = subscription, true\n\tc.wakeOne()", "heard = subscription, true"},
		}, freeUnits},
		{"forgets the gap", channelFile, edits{
			{"Message {\n\t\tc.wakeOne()\n", "Message {\n"},
		}, histories},
		{"drops the wake of a waiter cancelled while parked", channelFile, edits{
			{"case <-me.ready:\n\t\treturn nil\n\tcase <-ctx.Done():\n",
				"case <-me.ready:\n\t\treturn nil\n\tcase <-ctx.Done():\n\t\tme.woken = false\n"},
		}, freeLock},
		{"drops the wake of a waiter cancelled while its script is in flight", channelFile, edits{
			{"\t\t\tc.passOn(me)\n", "\t\t\tif ctx.Err() == nil {\n\t\t\t\tc.passOn(me)\n\t\t\t}\n"},
		}, freeLock},
		{"drops the wake of a waiter whose script fails", channelFile, edits{
			{"\t\t\tc.passOn(me)\n", "\t\t\tif ctx.Err() != nil {\n\t\t\t\tc.passOn(me)\n\t\t\t}\n"},
		}, freeUnits},
		{"reads the generation after the refusal", channelFile, edits{
			{"\t\tgeneration := c.now()\n\t\tanswer, err := a.Try(ctx)\n",
				"\t\tanswer, err := a.Try(ctx)\n\t\tgeneration := c.now()\n"},
		}, freeLock},
		{"joins a channel after the message", waitFile, edits{
			{"if c.heard {\n\t\tme.wake()\n\t} else {\n\t\tc.park(me, refused)\n\t}",
				"c.park(me, refused)"},
		}, freeUnits},
		{"has no bounded poll", channelFile, edits{
			{"in := c.waiters.pollIn(c.heard)", "in := mostPoll"},
		}, freeLock},
		{"polls for one waiter only", channelFile, edits{
			{"\tif c.parked.Len() > 0 {\n\t\tc.arm(c.waiters.pollIn(c.heard))\n\t}\n", ""},
		}, freeLock},
		{"does not wait for the end of the lease", channelFile, edits{
			{"if refused.RetryIn >= 0 {", "if false {"},
		}, freeLock},
	}
}

// renewSeeds are bugs in the watchdog, which all leases share.
func renewSeeds() []seed {
	return []seed{
		{"takes one status for a whole batch", batchFile, edits{
			{"status = statuses[i]", "status = statuses[0]"},
		}, watchdog},
		{"accepts a grant after its deadline", keeperFile, edits{
			{"if h.state != pending || h.expired(now) {", "if h.state != pending {"},
		}, watchdog},
		{"counts a grant from its reply", keeperFile, edits{
			{"h.state, h.granted = held, now.Time", "h.state, h.granted, h.started = held, now.Time, now"},
		}, watchdog},
		{"counts a renewal from its reply", batchFile, edits{
			{"h.started = sent", "h.started = now"},
		}, watchdog},
		// In virtual time timers are exact: this one's test stops it.
		{"sees the end of a lease by its timer only", keeperFile, edits{
			{"if !h.expired(now) {", "if h.state == held {"},
		}, finder{dir: "primitives/internal/renew", test: "TestKeeperRemainingReadsTheClock"}},
		{"minds a renewal from before the grant", batchFile, edits{
			{"status == NotHeld && sent.After(h.granted)", "status == NotHeld"},
		}, watchdog},
		{"believes to the last moment", holdFile, edits{
			{"return h.Lease - h.Allowance", "return h.Lease"},
		}, watchdog},
		{"renews late", batchFile, edits{
			{"h.renewAt = sent.Add(h.Lease / 3)", "h.renewAt = sent.Add(h.Lease)"},
		}, watchdog},
		{"does not repeat a renewal that failed", batchFile, edits{
			{"h.renewAt = now.Add(h.Lease / 10)", "h.renewAt = now.Add(h.Lease)"},
		}, watchdog},
		{"looks for a key in each refusal", batchFile, edits{
			{"!b.denied && errors.Is(err, backend.ErrKeyDenied)", "!b.denied && err != nil"},
		}, finder{dir: "primitives/internal/renew", test: "TestKeeperKeepsABatchThatIsRefusedWhole"}},
		{"forgets which keys were denied", batchFile, edits{
			{"!b.denied && errors", "errors"},
		}, finder{dir: "primitives/internal/renew", test: "TestKeeperRenewsBesideDeniedKeys"}},
	}
}

// lockSeeds are bugs in the lock: its hold, its giving back, its scripts.
func lockSeeds() []seed {
	return []seed{
		{"sends the release before it ends the context", leaseFile, edits{
			{"\tlast, err := h.drop(l)\n", `	if len(h.leases) == 1 && h.of.client.keeper.End(&h.Hold) {
		defer h.endAll(ErrReleased)
		return h.release(ctx, grace)
	}
	last, err := h.drop(l)
`},
		}, properties},
		{"does not stop renewing before the release", leaseFile, edits{
			{"if !h.of.client.keeper.End(&h.Hold) {\n\t\th.giveBack(true)\n\t\treturn fmt",
				"if h.of.client.keeper.Remaining(&h.Hold) <= 0 {\n\t\th.giveBack(true)\n\t\treturn fmt"},
		}, properties},
		{"frees the outer hold with the inner one", leaseFile, edits{
			{"last = len(h.leases) == 0", "last = true"},
		}, properties},
		{"believes that an Unlock which found nothing has freed the lock", leaseFile, edits{
			{"err == nil:\n\t\treturn fmt.Errorf(\"%w: %w\", ErrNotHeld, ErrLost)",
				"err == nil:\n\t\treturn nil"},
		}, histories},
		{"uses an owner again after an attempt without an answer", lockFile, edits{
			{"!errors.Is(err, ErrUnavailable) {\n\t\ta.hold = nil", "ctx.Err() != nil {\n\t\ta.hold = nil"},
		}, properties},
		{"has one owner for all holds of a client", lockFile, edits{
			{"Owner: l.client.newOwner()", "Owner: l.client.id + \":1\""},
		}, histories},
		{"keeps a grant that nobody wants any more", lockFile, edits{
			{"\t\ta.hold.abandon()\n", ""},
		}, properties},
		{"keeps a grant that came too late", leaseFile, edits{
			{"{\n\t\th.giveBack(true)\n\t\treturn wait.Answer{}, fmt",
				"{\n\t\treturn wait.Answer{}, fmt"},
		}, closing},
		{"does not give back what may be held", leaseFile, edits{
			{"if granted || backend.MayHaveRun(err) {", "if false {"},
		}, histories},
		{"gives back once", orphanFile, edits{
			{"what == missed && o.final:", "what == missed:"},
		}, histories},
		{"does not repeat a release", leaseFile, edits{
			{"\th.giveBack(true)\n\tif !backend", "\tif !backend"},
		}, histories},
		{"leaves what is held at Close", leaseFile, edits{
			{"h.endAll(ErrClosed)\n\th.giveBack(true)", "h.endAll(ErrClosed)"},
		}, closing},
		{"makes tokens of the client's clock", leaseFile, edits{
			{"h.token = token", "h.token = token - token + time.Now().UnixMicro()"},
		}, histories},
		{"ends the hold by the client's clock", acquireFile, edits{
			{"owner, 1)\nredis.call('pexpire', lock, lease", "owner, 1)\nredis.call('pexpireat', lock, lease"},
			{"FormatInt(lease.Milliseconds(), 10)", "FormatInt(time.Now().Add(lease).UnixMilli(), 10)"},
		}, properties},
		{"grants without looking", acquireFile, edits{
			{"redis.call('hlen', lock) > 0", "false"},
		}, histories},
		{"overwrites what is no lock", acquireFile, edits{
			{"if redis.call('hlen', lock) > 0",
				"if redis.call('type', lock).ok ~= 'hash' then redis.call('del', lock) end " +
					"if redis.call('hlen', lock) > 0"},
		}, properties},
		{"counts tokens by one", acquireFile, edits{
			{"time[1] .. string.format('%06d', time[2])", "'1'"},
		}, properties},
		{"reads tokens as doubles", acquireFile, edits{
			{"redis.call('incr', token)",
				"redis.call('set', token, string.format('%.0f', tonumber(last) + 1))"},
		}, properties},
		{"has a shorter lease on the server", acquireFile, edits{
			{"owner, 1)\nredis.call('pexpire', lock, lease)",
				"owner, 1)\nredis.call('pexpire', lock, lease / 2)"},
		}, histories},
		{"releases what another holds", releaseFile, edits{
			{"redis.call('hexists', lock, owner) == 0", "redis.call('exists', lock) == 0"},
		}, histories},
		{"forgets to publish", releaseFile, edits{
			{"redis.call(publish, released, '0')", ""},
		}, properties},
		{"renews what exists", renewFile, edits{
			{"redis.pcall('hexists', lock, owners[i])", "redis.pcall('exists', lock)"},
		}, properties},
		{"says that it has renewed", renewFile, edits{
			{"status[i] = redis.call('pexpire', lock, lease)", "status[i] = 1"},
		}, properties},
		{"has one status for a whole batch", renewFile, edits{
			{"status[i] = -1", "for j = 1, #locks do status[j] = 0 end return status"},
		}, properties},
		{"frees by force only once", forceFile, edits{
			{"if redis.call('hlen', lock) == 0 then", "if true then"},
		}, properties},
	}
}
