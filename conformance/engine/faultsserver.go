package engine

import (
	"context"
	"time"

	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
)

// serverFaults are about the server, which all clients notice.
func serverFaults() []fault {
	admin, oneNode := harness.ClientList, harness.OneNode
	needs := func(all ...harness.Need) []harness.Need { return all }
	return []fault{
		{
			name: "KilledConnections", needs: needs(admin), lasts: briefly,
			inject: commands("CLIENT", "KILL", "TYPE", "normal"),
		},
		{
			name: "KilledSubscriptions", needs: needs(admin, harness.PubSub), lasts: briefly,
			inject: commands("CLIENT", "KILL", "TYPE", "pubsub"),
		},
		{name: "FlushedScripts", lasts: briefly, inject: commands("SCRIPT", "FLUSH")},
		{name: "OutOfMemory", needs: needs(admin), lasts: briefly, inject: exhaust},
		{name: "ReadOnlyServer", needs: needs(admin, oneNode, harness.FixedRoles), lasts: briefly, inject: demote},
		{name: "LoadingServer", needs: needs(admin, oneNode, harness.Debug), inject: reload},
		{
			name: "StoppedServer", needs: needs(harness.Pause), lease: workLease, lasts: beyondLease, loses: true,
			inject: stopServer,
		},
		{
			name: "Restart", needs: needs(harness.Restart),
			inject: once(func(ctx context.Context, s *scene) { must.Do(s.Restart(ctx, true)) }),
		},
		{
			name: "LostData", needs: needs(harness.Restart), forgets: true,
			inject: once(func(ctx context.Context, s *scene) { must.Do(s.Restart(ctx, false)) }),
		},
		{
			name: "Failover", needs: needs(harness.FailOver), lease: workLease, forgets: true,
			inject: once(func(ctx context.Context, s *scene) { must.Do(s.FailOver(ctx, s.key, nil)) }),
		},
		{
			name: "LaggingReplica", needs: needs(harness.FailOver), lease: workLease, forgets: true,
			inject: once(failOverLate),
		},
		{name: "SlotMigration", needs: needs(harness.Migrate), lasts: briefly, inject: migrate},
		{
			// As much as a lease's allowance.
			name: "ClockStep", needs: needs(harness.Advance), calm: true, steps: true, inject: advance(longLease / 10),
		},
		{
			// No message is sent when a key expires: the waiters wait for what they believe remains.
			name: "ClockLeap", needs: needs(harness.Advance), lease: workLease, forgets: true, steps: true,
			inject: advance(2 * workLease),
		},
	}
}

// once makes a fault that ends by itself.
func once(happen func(ctx context.Context, s *scene)) func(context.Context, *scene) func(context.Context) {
	return func(ctx context.Context, s *scene) func(context.Context) {
		happen(ctx, s)
		return nil
	}
}

// commands makes a fault by a command that all nodes get again and again.
func commands(words ...string) func(context.Context, *scene) func(context.Context) {
	return repeatedly(func(ctx context.Context, s *scene) { must.Get(s.Primaries(ctx, words...)) })
}

// exhaust makes every server refuse what takes memory.
func exhaust(ctx context.Context, s *scene) func(context.Context) {
	set := func(ctx context.Context, limit string) {
		must.Get(s.Primaries(ctx, "CONFIG", "SET", "maxmemory", limit))
	}
	set(ctx, "1")
	return func(ctx context.Context) { set(ctx, "0") }
}

// demote makes the server a replica of nobody, as an old primary is after a failover.
func demote(ctx context.Context, s *scene) func(context.Context) {
	must.Get(s.Do(ctx, "", "REPLICAOF", "127.0.0.1", "1"))
	return func(ctx context.Context) { must.Get(s.Do(ctx, "", "REPLICAOF", "NO", "ONE")) }
}

// reload makes the server load its data for a while, as after a restart: it has much, and reads it
// slowly.
func reload(ctx context.Context, s *scene) func(context.Context) {
	const keys, delay = "300", "1000" // microseconds for each
	for _, words := range [][]string{
		{"DEBUG", "POPULATE", keys, "ballast", "100"},
		{"CONFIG", "SET", "key-load-delay", delay},
		{"CONFIG", "SET", "loading-process-events-interval-bytes", "1024"},
		{"DEBUG", "RELOAD"},
		{"CONFIG", "SET", "key-load-delay", "0"},
		{
			"EVAL", "for i = 0, ARGV[1] - 1 do redis.call('del', 'ballast:' .. i) end",
			"0", keys,
		},
	} {
		must.In(words[0]+" "+words[1], func() { must.Get(s.Do(ctx, "", words...)) })
	}
	return nil
}

// stopServer stops the server that has the object.
func stopServer(ctx context.Context, s *scene) func(context.Context) {
	resume := must.Get(s.Pause(ctx, s.key))
	return func(context.Context) { must.Do(resume()) }
}

// failOverLate promotes a replica that does not see what the actors write meanwhile.
func failOverLate(ctx context.Context, s *scene) {
	must.Do(s.FailOver(ctx, s.key, func(context.Context) error {
		time.Sleep(briefly)
		return nil
	}))
}

// migrate moves the object's slot, with a stop on half the way.
func migrate(ctx context.Context, s *scene) func(context.Context) {
	finish := must.Get(s.Migrate(ctx, s.key))
	return func(ctx context.Context) { must.Do(finish(ctx)) }
}

// advance steps the server's clock forward.
func advance(d time.Duration) func(context.Context, *scene) func(context.Context) {
	return once(func(_ context.Context, s *scene) { s.Advance(d) })
}
