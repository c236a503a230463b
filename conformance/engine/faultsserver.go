package engine

import (
	"context"
	"time"

	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
)

// serverFaults are about the server, which all clients notice.
func serverFaults() []fault {
	brief := 200 * time.Millisecond
	admin := []harness.Need{harness.ClientList}
	all := []fault{
		{
			name: "KilledConnections", needs: admin, lease: longLease, lasts: brief,
			inject: commands("CLIENT", "KILL", "TYPE", "normal"),
		},
		{
			name: "KilledSubscriptions", needs: []harness.Need{harness.ClientList, harness.PubSub}, lease: longLease,
			lasts: brief, inject: commands("CLIENT", "KILL", "TYPE", "pubsub"),
		},
		{
			name: "FlushedScripts", lease: longLease, lasts: brief, inject: commands("SCRIPT", "FLUSH"),
		},
		{name: "OutOfMemory", needs: admin, lease: longLease, lasts: brief, inject: exhaust},
		{
			name: "ReadOnlyServer", needs: []harness.Need{harness.ClientList, harness.OneNode, harness.FixedRoles},
			lease: longLease, lasts: brief, inject: demote,
		},
		{
			name: "LoadingServer", needs: []harness.Need{harness.ClientList, harness.OneNode, harness.Debug},
			lease: longLease, inject: reload,
		},
		{
			name: "StoppedServer", needs: []harness.Need{harness.Pause}, lease: workLease, lasts: beyondLease,
			loses: true, inject: stopServer,
		},
		{
			name: "Restart", needs: []harness.Need{harness.Restart}, lease: longLease,
			inject: func(ctx context.Context, s *scene) func(context.Context) {
				must.Do(s.Restart(ctx, true))
				return nil
			},
		},
		{
			name: "LostData", needs: []harness.Need{harness.Restart}, lease: longLease, forgets: true,
			inject: func(ctx context.Context, s *scene) func(context.Context) {
				must.Do(s.Restart(ctx, false))
				return nil
			},
		},
		{
			name: "Failover", needs: []harness.Need{harness.FailOver}, lease: workLease, forgets: true,
			inject: func(ctx context.Context, s *scene) func(context.Context) {
				must.Do(s.FailOver(ctx, s.key, nil))
				return nil
			},
		},
		{
			name: "LaggingReplica", needs: []harness.Need{harness.FailOver}, lease: workLease, forgets: true,
			inject: func(ctx context.Context, s *scene) func(context.Context) {
				must.Do(s.FailOver(ctx, s.key, func(context.Context) error {
					time.Sleep(brief) // The actors write what the replica does not see.
					return nil
				}))
				return nil
			},
		},
		{
			name: "SlotMigration", needs: []harness.Need{harness.Migrate}, lease: longLease, lasts: brief,
			inject: func(ctx context.Context, s *scene) func(context.Context) {
				finish := must.Get(s.Migrate(ctx, s.key))
				return func(ctx context.Context) { must.Do(finish(ctx)) }
			},
		},
		{
			// As much as a lease's allowance.
			name: "ClockStep", needs: []harness.Need{harness.Advance}, lease: longLease, calm: true,
			steps: true, inject: advance(longLease / 10),
		},
		{
			// No message is sent when a key expires: the waiters wait for what they believe remains.
			name: "ClockLeap", needs: []harness.Need{harness.Advance}, lease: workLease, forgets: true,
			steps:  true,
			inject: advance(2 * workLease),
		},
	}
	for i := range all {
		all[i].alone = true
	}
	return all
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

// advance steps the server's clock forward.
func advance(d time.Duration) func(context.Context, *scene) func(context.Context) {
	return func(_ context.Context, s *scene) func(context.Context) {
		s.Advance(d)
		return nil
	}
}
