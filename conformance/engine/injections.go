package engine

import (
	"context"
	"sync"
	"time"

	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
)

// each does something to all links.
func (s *scene) each(do func(harness.Link)) {
	for _, link := range s.links {
		do(link)
	}
}

// healing makes a fault that lasts until the links are restored.
func healing(hit func(harness.Link)) injection {
	return func(_ context.Context, s *scene) func(context.Context) {
		s.each(hit)
		return func(context.Context) { s.each(harness.Link.Restore) }
	}
}

// repeatedly makes a fault that happens again and again.
func repeatedly(once func(ctx context.Context, s *scene)) injection {
	return func(ctx context.Context, s *scene) func(context.Context) {
		stop := make(chan struct{})
		stopped := must.Start(func() {
			for !isClosed(stop) {
				once(ctx, s)
				time.Sleep(2 * time.Millisecond)
			}
		})
		return func(context.Context) { close(stop); must.Do(<-stopped) }
	}
}

// loser is a method of Link that loses one reply.
type loser func(l harness.Link, match func(words []string) bool) <-chan struct{}

// losing makes a fault that loses the replies of scripts one by one: one of each script, or all.
func losing(lose loser, oneOfEach bool) injection {
	return func(_ context.Context, s *scene) func(context.Context) {
		stop := make(chan struct{})
		var all sync.WaitGroup
		s.each(func(l harness.Link) {
			all.Go(func() { s.loseInTurn(l, lose, oneOfEach, stop) })
		})
		return func(context.Context) {
			close(stop)
			all.Wait()
			s.each(harness.Link.Cut) // What is silent would stay so for as long as a driver waits.
		}
	}
}

// loseInTurn loses one reply after the other on a link.
func (s *scene) loseInTurn(l harness.Link, lose loser, oneOfEach bool, stop <-chan struct{}) {
	seen := map[string]bool{} // by one goroutine at a time
	match := func(words []string) bool {
		if isClosed(stop) || !harness.RunsScript(words, s.key) || oneOfEach && seen[words[1]] {
			return false // After the end it is still armed.
		}
		seen[words[1]] = true
		return true
	}
	for {
		select {
		case <-lose(l, match):
			s.reach("reply lost on purpose")
		case <-stop:
			return
		}
	}
}

// commands makes a fault by a command that all nodes get again and again.
func commands(words ...string) injection {
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

// reload makes the server load its data for a while, as after a restart: it has much, and reads it slowly.
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

func stopServer(ctx context.Context, s *scene) func(context.Context) {
	resume := must.Get(s.Pause(ctx, s.key))
	return func(context.Context) { must.Do(resume()) }
}

// restarts makes a fault in which the server restarts, with its data or without.
func restarts(withData bool) injection {
	return func(ctx context.Context, s *scene) func(context.Context) {
		must.Do(s.Restart(ctx, withData))
		return nil
	}
}

// failsOver makes a fault in which a replica is promoted that has not seen the writes of so long.
func failsOver(lag time.Duration) injection {
	return func(ctx context.Context, s *scene) func(context.Context) {
		var meanwhile func(context.Context) error
		if lag > 0 {
			meanwhile = func(context.Context) error { time.Sleep(lag); return nil }
		}
		must.Do(s.FailOver(ctx, s.key, meanwhile))
		return nil
	}
}

// migrate moves the object's slot, with a stop on half the way.
func migrate(ctx context.Context, s *scene) func(context.Context) {
	finish := must.Get(s.Migrate(ctx, s.key))
	return func(ctx context.Context) { must.Do(finish(ctx)) }
}

// advance steps the server's clock forward.
func advance(d time.Duration) injection {
	return func(_ context.Context, s *scene) func(context.Context) {
		s.Advance(d)
		return nil
	}
}
