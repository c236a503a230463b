package conformance_test

// readWriteSeeds are bugs in the read-write lock: in who is let in, whose lease is whose, who is woken.
func readWriteSeeds() []seed {
	const leases, scripts = "readwriteleases.go", "internal/script/"
	stays := onEmbedded("ReadWriteLockWriterStaysAsAReader")
	histories, properties := historiesOf("ReadWriteLock"), propertiesOf("ReadWriteLock")
	on := func(test string) finder { return finder{dir: "conformance/matrix/readwrite", test: test} }
	return []seed{
		{"lets a reader in beside a writer", scripts + "read_acquire.lua.go", edits{
			{"mode ~= 'read' and not downgrade and redis.call('hlen', lock) or 0", "not mode and redis.call('hlen', lock) or 0"},
		}, histories},
		{"lets a writer in beside a reader", scripts + "write_acquire.lua.go", edits{
			{"elseif longest > 0 then", "elseif false then"},
		}, histories},
		{"keeps the TTL of a writer that leaves with others", scripts + "write_release_all.lua.go", edits{
			{"if longest > 0 then redis.call('pexpire', lock, longest) end\n", "\n"},
		}, finder{dir: "conformance/matrix/rights", test: "TestJointReleaseIsTheSame"}},
		{"keeps the lock for a reader that crashed", scripts + "read_release.lua.go", edits{
			{"lease = longest end", "lease = redis.call('pttl', lock) end"},
		}, properties},
		{"has a writer wait for the last of the readers' leases", scripts + "write_acquire.lua.go", edits{
			{"return {false, shortest, 1}", "return {false, longest, 1}"},
		}, properties},
		{"wakes nobody by a read release after the lease", scripts + "read_release.lua.go", edits{
			{"if redis.call('exists', lock) == 0 then", "if false then"},
		}, properties},
		{"evicts the readers when one leaves", scripts + "read_release.lua.go", edits{
			{"mode == 'read' and longest == 0", "mode == 'read'"},
		}, histories},
		{"wakes nobody after the last reader", scripts + "read_release.lua.go", edits{
			{"redis.call(publish, released, '0')\n  redis.call('del'", "redis.call('del'"},
		}, histories},
		{"wakes nobody when a writer stays as a reader", scripts + "write_release.lua.go", edits{
			{"redis.call(publish, released, '1')\nif longest == 0 then", "if longest == 0 then redis.call(publish, released, '1')"},
		}, properties},
		{"ends the writer's read hold with the write hold", scripts + "write_release.lua.go", edits{
			{"if longest == 0 then", "if true then"},
		}, properties},
		{"ends the leases of the others with a shorter one", scripts + "read_acquire.lua.go", edits{
			{"math.max(redis.call('pttl', lock), tonumber(lease))", "lease"},
		}, properties},
		{"ends the leases of the others with a renewal", scripts + "read_renew.lua.go", edits{
			{"redis.call('pttl', lock) < tonumber(lease)", "true"},
		}, properties},
		{"makes a token for each reader", scripts + "read_acquire.lua.go", edits{
			{"if last_ and string.find(last_, '^[1-9]%d*$') then", "if false then"},
		}, properties},
		{"keeps a writer's own reader out", leases, edits{
			{"Writer: l.write.base.Holder(ctx)", `Writer: ""`},
		}, stays},
		{"lets a reader wait for itself", leases, edits{
			{`if l.read.base.Holder(ctx) != "" ||`, "if"},
		}, stays},
		{"has no reader stand back", leases, edits{
			{"Queue: s.preferWriters && l.waits,", "Queue: false,"},
		}, on("TestPreferWritersWhileAnotherWaits")},
		{"keeps a free lock for a writer that it does not wake", "internal/wait/queue.go", edits{
			{"\t\tq.wakeBigger(me.need, refused.Free)\n", ""},
		}, on("TestPreferWritersBehindAReaderThatWaits")},
		{"has readers stand back for a writer that only tries", "readwritelock.go", edits{
			{"&leasableWrite{l, false}", "&leasableWrite{l, true}"},
		}, properties},
		{"has readers stand back for as long as a lease", scripts + "write_acquire.lua.go", edits{
			{"shortest + 200)", "tonumber(lease))"},
		}, properties},
		{"has readers stand back for less when another writer comes", scripts + "write_acquire.lua.go", edits{
			{"math.max(redis.call('pttl', waiting), shortest + 200)", "shortest + 200"},
		}, on("TestPreferWritersWithAShorterLease")},
		{"has readers stand back for a writer that gave up", scripts + "write_release.lua.go", edits{
			{"redis.call('hdel', waiting, owner)", ""},
		}, on("TestPreferWritersAfterAWriterLeft")},
		{"has readers stand back no more when one of two writers gives up", scripts + "write_release.lua.go", edits{
			{"redis.call('hdel', waiting, owner)", "redis.call('del', waiting)"},
		}, on("TestPreferWritersWhileAnotherWaits")},
		{"wakes no reader when the last waiting writer gives up", scripts + "write_release.lua.go", edits{
			{"redis.call('hlen', waiting) == 1", "redis.call('hlen', waiting) == 0"},
		}, on("TestPreferWritersAfterAWriterLeft")},
		{"has readers stand back for writers that gave up together", scripts + "write_release_all.lua.go", edits{
			{"give_back(waiting, owner, free) and 0 or -2", "0"},
		}, properties},
		{"leaves a crashed writer's place when the last reader leaves", scripts + "read_release.lua.go", edits{
			{"if standback then", "if false then"},
		}, on("TestPreferWritersAfterAWriterCrashed")},
		{"leaves a crashed writer's place when readers leave together", scripts + "read_release_all.lua.go", edits{
			{"redis.call('pexpire', waiting, 200)", ""},
		}, on("TestPreferWritersAfterReadersLeftTogether")},
		{"evicts the readers when writers leave together", scripts + "write_release_all.lua.go", edits{
			{"elseif longest == 0 then", "elseif true then"},
		}, on("TestWritersLeaveInTheBackground")},
		{"tells nobody of what many are released of", "leasekind.go", edits{
			{"channels[i] = k.channel(key)", "channels[i] = k.channel(key + key)"},
		}, properties},
	}
}
