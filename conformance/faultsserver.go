package conformance

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// serverFaults are about the server, which all clients notice.
func serverFaults() []fault {
	brief := 200 * time.Millisecond
	admin := []need{needsClientList}
	all := []fault{
		{
			name: "KilledConnections", needs: admin, lease: longLease, lasts: brief,
			inject: commands("CLIENT", "KILL", "TYPE", "normal"),
		},
		{
			name: "KilledSubscriptions", needs: []need{needsClientList, needsPubSub}, lease: longLease,
			lasts: brief, inject: commands("CLIENT", "KILL", "TYPE", "pubsub"),
		},
		{
			name: "FlushedScripts", lease: longLease, lasts: brief, inject: commands("SCRIPT", "FLUSH"),
		},
		{name: "OutOfMemory", needs: admin, lease: longLease, lasts: brief, inject: exhaust},
		{
			name: "ReadOnlyServer", needs: []need{needsClientList, needsOneNode, needsNoFailOver},
			lease: longLease, lasts: brief, inject: demote,
		},
		{
			name: "LoadingServer", needs: []need{needsClientList, needsOneNode, needsDebug},
			lease: longLease, inject: reload,
		},
		{
			name: "StoppedServer", needs: []need{needsPause}, lease: workLease, lasts: beyondLease,
			loses: true, inject: stopServer,
		},
		{
			name: "Restart", needs: []need{needsRestart}, lease: longLease,
			inject: func(ctx context.Context, s *scene) (func(context.Context) error, error) {
				return nil, s.Restart(ctx, true)
			},
		},
		{
			name: "LostData", needs: []need{needsRestart}, lease: longLease, forgets: true,
			inject: func(ctx context.Context, s *scene) (func(context.Context) error, error) {
				return nil, s.Restart(ctx, false)
			},
		},
		{
			name: "Failover", needs: []need{needsFailOver}, lease: workLease, forgets: true,
			inject: func(ctx context.Context, s *scene) (func(context.Context) error, error) {
				return nil, s.FailOver(ctx, s.key, nil)
			},
		},
		{
			name: "LaggingReplica", needs: []need{needsFailOver}, lease: workLease, forgets: true,
			inject: func(ctx context.Context, s *scene) (func(context.Context) error, error) {
				return nil, s.FailOver(ctx, s.key, func(context.Context) error {
					time.Sleep(brief) // The workers write what the replica does not see.
					return nil
				})
			},
		},
		{
			name: "SlotMigration", needs: []need{needsMigrate}, lease: longLease, lasts: brief,
			inject: func(ctx context.Context, s *scene) (func(context.Context) error, error) {
				return s.Migrate(ctx, s.key)
			},
		},
		{
			// As much as a lease's allowance.
			name: "ClockStep", needs: []need{needsAdvance}, lease: longLease, calm: true,
			steps: true, inject: advance(longLease / 10),
		},
		{
			// No message is sent when a key expires: the waiters wait for what they believe remains.
			name: "ClockLeap", needs: []need{needsAdvance}, lease: workLease, forgets: true,
			steps:  true,
			inject: advance(2 * workLease),
		},
	}
	for i := range all {
		all[i].alone, all[i].bound = true, faultBound
	}
	return all
}

func needsPause(h *Harness) string {
	return unless(h.Pause != nil, SkipNoPause)
}

func needsFailOver(h *Harness) string {
	return unless(h.FailOver != nil, SkipNoFailOver)
}

func needsNoFailOver(h *Harness) string {
	return unless(h.FailOver == nil, SkipFixedRoles)
}

func needsAdvance(h *Harness) string {
	return unless(h.Advance != nil, SkipNoAdvance)
}

func needsDebug(h *Harness) string {
	_, err := h.Do(context.Background(), "", "DEBUG", "HELP")
	return unless(err == nil, SkipNoDebug)
}

// commands makes a fault by a command that all nodes get again and again.
func commands(words ...string) func(context.Context, *scene) (func(context.Context) error, error) {
	return repeatedly(func(ctx context.Context, s *scene) error {
		_, err := s.nodes(ctx, words...)
		return err
	})
}

// exhaust makes every server refuse what takes memory.
func exhaust(ctx context.Context, s *scene) (func(context.Context) error, error) {
	set := func(ctx context.Context, limit string) error {
		_, err := s.nodes(ctx, "CONFIG", "SET", "maxmemory", limit)
		return err
	}
	return func(ctx context.Context) error { return set(ctx, "0") }, set(ctx, "1")
}

// demote makes the server a replica of nobody, as an old primary is after a failover.
func demote(ctx context.Context, s *scene) (func(context.Context) error, error) {
	_, err := s.Do(ctx, "", "REPLICAOF", "127.0.0.1", "1")
	return func(ctx context.Context) error {
		_, err := s.Do(ctx, "", "REPLICAOF", "NO", "ONE")
		return err
	}, err
}

// reload makes the server load its data for a while, as after a restart: it has much, and reads it
// slowly.
func reload(ctx context.Context, s *scene) (func(context.Context) error, error) {
	const keys, delay = "300", "1000" // microseconds for each
	err := s.doAll(ctx, [][]string{
		{"DEBUG", "POPULATE", keys, "ballast", "100"},
		{"CONFIG", "SET", "key-load-delay", delay},
		{"CONFIG", "SET", "loading-process-events-interval-bytes", "1024"},
		{"DEBUG", "RELOAD"},
		{"CONFIG", "SET", "key-load-delay", "0"},
		{
			"EVAL", "for i = 0, ARGV[1] - 1 do redis.call('del', 'ballast:' .. i) end",
			"0", keys,
		},
	})
	return nil, err
}

// doAll runs commands one after the other.
func (s *scene) doAll(ctx context.Context, commands [][]string) error {
	for _, words := range commands {
		if _, err := s.Do(ctx, "", words...); err != nil {
			return fmt.Errorf("%v: %w", words[:2], err)
		}
	}
	return nil
}

// stopServer stops the server that has the object.
func stopServer(ctx context.Context, s *scene) (func(context.Context) error, error) {
	resume, err := s.Pause(ctx, s.key)
	if err != nil {
		return nil, err
	}
	return func(context.Context) error { return resume() }, nil
}

// advance steps the server's clock forward.
func advance(d time.Duration) func(context.Context, *scene) (func(context.Context) error, error) {
	return func(_ context.Context, s *scene) (func(context.Context) error, error) {
		if s.Advance == nil {
			return nil, errors.New("the clock cannot be moved")
		}
		s.Advance(d)
		return nil, nil //nolint:nilnil // It has happened.
	}
}
