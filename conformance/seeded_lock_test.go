package conformance_test

// The files that have bugs put into them.
const (
	queueFile   = "internal/wait/queue.go"
	channelFile = "internal/listen/channel.go"
	crowdFile   = "internal/wait/crowd.go"
	waitFile    = "internal/wait/wait.go"
	renewalFile = "internal/renew/renewal.go"
	entryFile   = "internal/renew/entry.go"
	keeperFile  = "internal/renew/keeper.go"
	lockFile    = "exclusivelock.go"
	fencedFile  = "fencedlock.go"
	ownedFile   = "ownedlock.go"
	spinFile    = "spinlock.go"
	takeFile    = "extend/leases.go"
	leaseFile   = "extend/hold.go"
	orphanFile  = "extend/orphan.go"
	doFile      = "extend/do.go"
	acquireFile = "internal/script/lock_acquire.lua.go"
	releaseFile = "internal/script/lock_release.lua.go"
	renewFile   = "internal/script/lock_renew.lua.go"
	forceFile   = "internal/script/lock_force_release.lua.go"
)

// These run random schedules in virtual time, over servers made for them. Which of two goroutines
// goes first at one time is left to chance, so that some bugs show in every few runs only.
var (
	freeLock  = finder{dir: "primitives/internal/wait", test: "TestWaitNeverLeavesAFreeLock", runs: 40}
	ofMany    = finder{dir: "hasptest/primitives", test: "TestLockIsTriedByAFewOfMany"}
	inCrowd   = finder{dir: "primitives/internal/wait", test: "TestCrowd.*"}
	freeUnits = finder{dir: "primitives/internal/wait", test: "TestWaitNeverLeavesFreeUnits", runs: 40}
	watchdog  = finder{dir: "primitives/internal/renew", test: "TestKeeperRandomSchedules"}
	doing     = finder{dir: "hasptest/primitives", test: "TestDo.*", runs: 1}
	itself    = finder{dir: "hasptest/primitives", test: "TestSelfDeadlock", runs: 1}
	closing   = finder{dir: "hasptest/primitives", test: "TestClientCloseAmidAll", runs: 5}
)

// waitSeeds are bugs in the waiting loop, which all primitives share.
func waitSeeds() []seed {
	return []seed{
		{"does not look again when subscribed", channelFile, edits{
			{"Subscribed = subscription, true\n\tc.listener.Acknowledged()", "Subscribed = subscription, true"},
		}, freeUnits},
		{"forgets the gap", queueFile, edits{
			{"Message {\n\t\tq.wakeOne()\n", "Message {\n"},
		}, histories},
		{"drops the wake of a waiter cancelled while parked", queueFile, edits{
			{"case <-me.ready:\n\t\treturn nil\n\tcase <-ctx.Done():\n",
				"case <-me.ready:\n\t\treturn nil\n\tcase <-ctx.Done():\n\t\tme.woken = false\n"},
		}, freeLock},
		{"drops the wake of a waiter cancelled while its script is in flight", queueFile, edits{
			{"a.Try(ctx)\n\t\tif err != nil {\n\t\t\tq.passOn(me)\n",
				"a.Try(ctx)\n\t\tif err != nil {\n\t\t\tif ctx.Err() == nil {\n\t\t\t\tq.passOn(me)\n\t\t\t}\n"},
		}, freeLock},
		{"drops the wake of a waiter whose script fails", queueFile, edits{
			{"a.Try(ctx)\n\t\tif err != nil {\n\t\t\tq.passOn(me)\n",
				"a.Try(ctx)\n\t\tif err != nil {\n\t\t\tif ctx.Err() != nil {\n\t\t\t\tq.passOn(me)\n\t\t\t}\n"},
		}, freeUnits},
		{"reads the generation after the refusal", queueFile, edits{
			{"\t\tgeneration := q.readGeneration()\n\t\tanswer, err := a.Try(ctx)\n",
				"\t\tanswer, err := a.Try(ctx)\n\t\tgeneration := q.readGeneration()\n"},
		}, freeLock},
		{"joins a channel after the message", waitFile, edits{
			{"if q.channel.Subscribed {\n\t\tme.wake()\n\t} else {\n\t\tq.park(me, refused)\n\t}",
				"q.park(me, refused)"},
		}, freeUnits},
		{"has no bounded poll", queueFile, edits{
			{"in := q.interval()", "in := 1000 * time.Hour"},
		}, freeLock},
		{"polls for one waiter only", queueFile, edits{
			{"\tif q.parked.Len() > 0 {\n\t\tq.channel.Alarm.Within(q.interval())\n\t}\n", ""},
		}, freeLock},
		{"never tries for what it has put off", crowdFile, edits{
			{"if !q.channel.Dropped {", "if false {"},
		}, freeLock},
		{"has a whole crowd try at once", crowdFile, edits{
			{"rand.Int64N(max(crowd, 1))", "rand.Int64N(1)"},
		}, inCrowd},
		{"has nobody try at once", crowdFile, edits{
			{"rand.Int64N(max(crowd, 1)) < triers*(1+q.passed)", "crowd == 0"},
		}, inCrowd},
		{"tries late although another message has come", crowdFile, edits{
			{"\tq.later.Stop()\n", ""},
		}, inCrowd},
		{"leaves the timer of a closed client", queueFile, edits{
			{"\tq.later.End()\n", ""},
		}, inCrowd},
		{"does not note how many hear of a release", lockFile, edits{
			{"\tl.base.Core().NoteCrowd(l.channel, released-1)\n", ""},
		}, ofMany},
		{"does not wait for the end of the lease", queueFile, edits{
			{"if refused.RetryIn >= 0 {", "if false {"},
		}, freeLock},
	}
}

// renewSeeds are bugs in the watchdog, which all leases share.
func renewSeeds() []seed {
	return []seed{
		{"takes one status for a whole batch", renewalFile, edits{
			{"status = statuses[i]", "status = statuses[0]"},
		}, watchdog},
		{"accepts a grant after its deadline", keeperFile, edits{
			{"if e.state != statePending || e.expired(now) {", "if e.state != statePending {"},
		}, watchdog},
		{"counts a grant from its reply", keeperFile, edits{
			{"e.state, e.grantedAt = stateHeld, now.at", "e.state, e.grantedAt, e.validFrom = stateHeld, now.at, now"},
		}, watchdog},
		{"counts a renewal from its reply", renewalFile, edits{
			{"e.validFrom, e.first = sent, span{}", "e.validFrom, e.first = now, span{}"},
		}, watchdog},
		// In virtual time timers are exact: this one's test stops it.
		{"sees the end of a lease by its timer only", keeperFile, edits{
			{"if !e.expired(now) {", "if e.state == stateHeld {"},
		}, finder{dir: "primitives/internal/renew", test: "TestKeeperRemainingReadsTheClock"}},
		{"minds a renewal from before the grant", renewalFile, edits{
			{"status.Lost() && sent.at > e.grantedAt", "status.Lost()"},
		}, watchdog},
		{"believes to the last moment", entryFile, edits{
			{"lasts := e.present().length - e.present().drift", "lasts := e.present().length"},
		}, watchdog},
		{"renews late", renewalFile, edits{
			{"e.renewAt = sent.at + e.Lease/3", "e.renewAt = sent.at + e.Lease"},
		}, watchdog},
		{"does not repeat a renewal that failed", renewalFile, edits{
			{"e.renewAt = now.at + e.present().length/10", "e.renewAt = now.at + e.Lease"},
		}, watchdog},
		{"has a goroutine for each script", "internal/renew/queue.go", edits{
			{"min(len(q.scripts), scriptsAtOnce-q.senders)", "len(q.scripts)"},
		}, finder{dir: "primitives/internal/renew", test: "TestKeeperRenewsWhatIsDueAtOnceByFewGoroutines"}},
		{"renews what was released while it queued", "internal/renew/queue.go", edits{
			{"return !e.renewing || e.state", "return e.renewing && false && e.state"},
		}, finder{dir: "primitives/internal/renew", test: "TestKeeperDoesNotRenewWhatEndedInTheQueue"}},
		{"checks all leases at each tick", "internal/renew/schedule.go", edits{
			{"k.entries[0].checkAt <= until;", "k.entries[0].checkAt <= max(until, never);"},
		}, finder{dir: "primitives/internal/renew", test: "TestKeeperChecksWhatIsDue"}},
		{"does not see that the wall clock ran ahead", "internal/renew/schedule.go", edits{
			{"if ahead < k.ahead+clocksDiffer {", "if true {"},
		}, finder{dir: "primitives/internal/renew", test: "TestKeeperFollowsTheWallClock"}},
		{"does not see that the wall clock ran ahead after it was set back", "internal/renew/schedule.go", edits{
			{"k.ahead = min(k.ahead, ahead)", "_ = k.ahead"},
		}, finder{dir: "primitives/internal/renew", test: "TestKeeperFollowsTheWallClock"}},
		{"does not learn that a script's keys must share a slot", renewalFile, edits{
			{"\tk.bySlot.Store(true)\n", ""},
		}, finder{dir: "primitives/internal/renew", test: "TestKeeperLearnsThatSlotsMatter"}},
		{"warns of renewals after the loss was reported", renewalFile, edits{
			{"if e.state == statePending || e.state == stateHeld {\n\t\t\tkeys", "if true {\n\t\t\tkeys"},
		}, finder{dir: "hasptest/primitives", test: "TestLossIsLoggedOnce"}},
		{"looks for a key in each refusal", renewalFile, edits{
			{"!group.denied && errors.Is(err, backend.ErrKeyDenied)", "!group.denied && err != nil"},
		}, finder{dir: "primitives/internal/renew", test: "TestKeeperKeepsABatchThatIsRefusedWhole"}},
		{"forgets which keys were denied", renewalFile, edits{
			{"!group.denied && errors", "errors"},
		}, finder{dir: "primitives/internal/renew", test: "TestKeeperRenewsBesideDeniedKeys"}},
	}
}

// lockSeeds are bugs in the lock: its hold, its giving back, its scripts.
func lockSeeds() []seed {
	foreign := finder{dir: "conformance/matrix/repro", test: "TestForeignHashIsAConflict"}
	return []seed{
		{"takes another program's hash for a held lock", "internal/script/lock_acquire.lua.go", edits{
			{"return strange or -2", "return -2"},
		}, foreign},
		{"deletes another program's hash by force", "internal/script/lock_force_release.lua.go", edits{
			{"if strange then", "if false then"},
		}, foreign},
		{"takes another program's hash for a lock of others", "internal/script/lock_held_by.lua.go", edits{
			{"and alien(lock, size) or 0", "and 0 or 0"},
		}, foreign},
		{"takes another program's hash for a limiter without a rate", "internal/script/rate_set.lua.go", edits{
			{"if strange then", "if false then"},
		}, foreign},
		{"sends the release before it ends the context", leaseFile, edits{
			{"\tlast, err := h.endLease(l)\n", `	if h.leases != nil && h.leases.next == nil && h.object.core.keeper.End(&h.Entry) {
		defer h.endAll(ErrReleased)
		return h.release(ctx, wait)
	}
	last, err := h.endLease(l)
`},
		}, properties},
		{"does not stop renewing before the release", leaseFile, edits{
			{"if !h.object.core.keeper.End(&h.Entry) {\n\t\th.releaseInBackground(true)\n\t\treturn fmt",
				"if h.object.core.keeper.Remaining(&h.Entry) <= 0 {\n\t\th.releaseInBackground(true)\n\t\treturn fmt"},
		}, properties},
		{"frees the outer hold with the inner one", "extend/group.go", edits{
			{"last = g.leases == nil", "last = true"},
		}, properties},
		{"believes that a Release which found nothing has freed the lock", leaseFile, edits{
			{"err == nil:\n\t\treturn fmt.Errorf(\"%w: %w\", ErrNotHeld, ErrLost)",
				"err == nil:\n\t\treturn nil"},
		}, properties},
		{"waits for itself", takeFile, edits{{"if s.excludedBy == nil {", "if true {"}}, itself},
		{"uses an owner again after an attempt without an answer", takeFile, edits{
			{"|| !errors.Is(err, backend.ErrUnavailable)\n", "|| errors.Is(err, ctx.Err())\n"},
		}, properties},
		{"has one owner for all holds of a client", takeFile, edits{
			{"return s.object.core.newOwner()", "return s.object.core.id + \":1\""},
		}, histories},
		{"keeps a grant that nobody wants any more", takeFile, edits{
			{"\t\ta.hold.abandon()\n", ""},
		}, properties},
		{"keeps a grant that came too late", leaseFile, edits{
			{"{\n\t\th.releaseInBackground(true)\n\t\treturn Answer{}, fmt",
				"{\n\t\treturn Answer{}, fmt"},
		}, closing},
		{"does not give back what may be held", leaseFile, edits{
			{"if granted || backend.MayHaveRun(err) {", "if false {"},
		}, histories},
		{"gives back once", orphanFile, edits{
			{"status.Lost() && o.acquireDone:", "status.Lost():"},
		}, finder{dir: "hasptest/primitives", test: "TestLockCancelledLeavesNothing", runs: 1}},
		{"gives back one by one what is in several slots", orphanFile, edits{
			{"if errors.Is(err, backend.ErrCrossSlot) && ", "if false && "},
		}, finder{dir: "hasptest/primitives", test: "TestGiveBackBehindOneEndpoint", runs: 1}},
		{"does not say what it could not release", orphanFile, edits{
			{"if len(all.unreleased) == 0 {", "if err == nil || len(all.unreleased) == 0 {"},
		}, finder{dir: "hasptest/primitives", test: "TestCloseAfterItsBackend", runs: 1}},
		{"does not name what a caller has left", "extend/request.go", edits{
			{"\tq.Object.core.orphans.note(q.Object, 1)\n", ""},
		}, finder{dir: "hasptest/primitives", test: "TestCloseNamesWhatIsUnanswered", runs: 1}},
		{"takes a late answer for a late search", orphanFile, edits{
			{"sent.Sub(o.started) >= searchAfterClose", "age >= searchAfterClose"},
		}, finder{dir: "hasptest/primitives", test: "TestCloseLooksForALateGrant", runs: 1}},
		{"renews a hold for ever", takeFile, edits{
			{"s.terms.Renewer, s.terms.MaxHold = s.kind, o.core.opts.MaxHold", "s.terms.Renewer = s.kind"},
		}, finder{dir: "hasptest/primitives", test: "TestMaxHold.*", runs: 1}},
		{"bounds a hold from its last renewal on", entryFile, edits{
			{"e.grantedAt+e.MaxHold-e.validFrom.at", "e.MaxHold"},
		}, finder{dir: "hasptest/primitives", test: "TestMaxHold.*", runs: 1}},
		{"keeps the lock after a panic of the work", doFile, edits{
			{"defer func() {\n\t\tif failed := l.release(", "err = work(l.Context(ctx))\n\tfunc() {\n\t\tif failed := l.release("},
			{"}()\n\treturn work(l.Context(ctx))", "}()\n\treturn err"},
		}, doing},
		{"does not tell of a loss during the work", doFile, edits{
			{"err = &ReleaseError{Work: err, Release: failed}", "_ = failed"},
		}, doing},
		{"leaves a release without an answer when the work's context has ended", doFile, edits{
			{"l.release(ctx, releaseWait{grace: releaseGrace, bounded: true})", "l.Release(ctx)"},
		}, doing},
		{"does not repeat a release", leaseFile, edits{
			{"\th.releaseInBackground(true)\n\tif !backend", "\tif !backend"},
		}, histories},
		{"leaves what is held at Close", leaseFile, edits{
			{"h.endAll(errClosed)\n\th.releaseInBackground(true)", "h.endAll(errClosed)"},
		}, closing},
		{"makes tokens of the client's clock", leaseFile, edits{
			{"h.token = token", "h.token = token - token + time.Now().UnixMicro()"},
		}, histories},
		{"ends the hold by the client's clock", acquireFile, edits{
			{"owner, 1)\nredis.call('pexpire', lock, lease", "owner, 1)\nredis.call('pexpireat', lock, lease"},
			{`c.Milliseconds("lease", p.Lease)`, `c.UnixMilli("lease", time.Now().Add(p.Lease))`},
		}, properties},
		{"grants without looking", acquireFile, edits{
			{"if size > 0 then", "if false then"},
		}, histories},
		{"overwrites what is no lock", acquireFile, edits{
			{"local size = redis.call('hlen', lock)",
				"if redis.call('type', lock).ok ~= 'hash' then redis.call('del', lock) end " +
					"local size = redis.call('hlen', lock)"},
		}, properties},
		{"counts tokens by one", acquireFile, edits{
			{"local now = time[1] .. micros", "local now = '1'"},
		}, properties},
		{"counts tokens up while their key exists", acquireFile, edits{
			{"local now = time[1] .. micros",
				"local now = time[1] .. micros if redis.call('exists', token) == 1 then now = redis.call('incr', token) .. '' end"},
		}, finder{dir: "conformance/matrix/replicas", test: "TestTokensRiseOverFailover", runs: 1}},
		{"reads tokens as doubles", acquireFile, edits{
			{"head .. digit + 1 .. string.rep('0', #nines)", "string.format('%.0f', last + 1)"},
		}, properties},
		{"has a shorter lease on the server", acquireFile, edits{
			{"owner, 1)\nredis.call('pexpire', lock, lease)",
				"owner, 1)\nredis.call('pexpire', lock, lease / 2)"},
		}, histories},
		{"releases what another holds", releaseFile, edits{
			{"redis.call('hexists', lock, owner) == 0", "redis.call('exists', lock) == 0"},
		}, histories},
		{"forgets to publish", releaseFile, edits{
			{"redis.call(publish, released, '0')", "0"},
		}, properties},
		{"renews what exists", renewFile, edits{
			{"redis.pcall('hexists', lock, owners[i])", "redis.pcall('exists', lock)"},
		}, properties},
		{"says that it has renewed", renewFile, edits{
			{"redis.call('pexpire', lock, lease)", "1"},
		}, properties},
		{"has one status for a whole batch", renewFile, edits{
			{"or fault(held)", "or fault(held) if status[i] < 0 then for j = 1, #locks do status[j] = 0 end return status end"},
		}, properties},
		{"frees by force only once", forceFile, edits{
			{"if size == 0 then", "if true then"},
		}, properties},
		{"lets the last token of a fenced lock expire", fencedFile, edits{
			{"opts, nil)", "opts, &c.tokenTTL)"},
		}, onEmbedded("FencedLockWalks")},
		{"asks for the last token of another key", fencedFile, edits{
			{"l.tokenKey)", "l.tokenKey+l.Name())"},
		}, propertiesOf("FencedLock")},
		{"asks what is no lock for its last token", "internal/script/lock_last_token.lua.go", edits{
			{"redis.call('hlen', lock)\n", "0\n"},
		}, onEmbedded("FencedLockConflict")},
	}
}

// spinSeeds are bugs in the spin lock, and in the waiting without messages.
func spinSeeds() []seed {
	backoff := finder{dir: "primitives/internal/wait", test: "TestBackoff.*"}
	return []seed{
		{"releases a spin lock of another owner", "internal/script/spin_release.lua.go", edits{
			{"redis.call('hexists', lock, owner) == 0", "false"},
		}, propertiesOf("SpinLock")},
		{"says of many spin locks that they were released", "internal/script/spin_release_all.lua.go", edits{
			{"redis.call('del', lock)", "1"},
		}, propertiesOf("SpinLock")},
		{"frees no spin lock by force", "internal/script/spin_force_release.lua.go", edits{
			{"return redis.call('del', lock)", "return size"},
		}, onEmbedded("SpinLockWalks")},
		{"does not try again without messages", queueFile, edits{
			{"trying == 0 ||", "trying < 0 ||"},
		}, propertiesOf("SpinLock")},
		{"does not pause for longer after each refusal", queueFile, edits{
			{"backoff.after(q.refusals)", "backoff.after(1)"},
		}, backoff},
		{"goes on with long pauses after a grant", queueFile, edits{
			{"\tq.refusals = 0\n", ""},
		}, backoff},
		{"lets all try at each pause", queueFile, edits{
			{"trying == 0 ||", "trying >= 0 ||"},
		}, backoff},
		{"has newcomers make the pauses longer", queueFile, edits{
			{"if me.wokenBefore || q.refusals == 0 {", "if true {"},
		}, backoff},
	}
}
