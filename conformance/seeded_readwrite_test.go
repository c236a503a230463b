package conformance_test

// readWriteSeeds are bugs in the read-write lock: in who is let in, whose lease is whose, who is woken.
func readWriteSeeds() []seed {
	const leases, scripts = "readwriteleases.go", "internal/script/"
	stays := onEmbedded("ReadWriteLockWriterStaysAsAReader")
	histories, properties := historiesOf("ReadWriteLock"), propertiesOf("ReadWriteLock")
	return []seed{
		{"lets a reader in beside a writer", scripts + "read_acquire.lua.go", edits{
			{"(mode or redis.call('hlen', lock) > 0)", "not mode and redis.call('hlen', lock) > 0"},
		}, histories},
		{"lets a writer in beside a reader", scripts + "write_acquire.lua.go", edits{
			{"elseif longest > 0 then", "elseif false then"},
		}, histories},
		{"keeps the lock for a reader that crashed", scripts + "read_release.lua.go", edits{
			{"lease = lease_of(side, owner, fields[i + 1])", "lease = redis.call('pttl', lock)"},
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
			{"redis.call('get', token) or ", ""},
		}, properties},
		{"keeps a writer's own reader out", leases, edits{
			{"Writer: l.write.base.Holder(ctx)", `Writer: ""`},
		}, stays},
		{"lets a reader wait for itself", leases, edits{
			{`if l.read.base.Holder(ctx) != "" {`, "if false {"},
		}, stays},
		{"tells nobody of what many are released of", leases, edits{
			{"extend.SideName(readWriteChannel, key)", "extend.SideName(readWriteChannel, key+key)"},
		}, properties},
	}
}
