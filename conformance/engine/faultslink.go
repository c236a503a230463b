package engine

import (
	"context"
	"sync"
	"time"

	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
)

// linkFaults are about the links of some clients, while others have none.
func linkFaults() []fault {
	return []fault{
		{
			name: "CutLinks", lasts: briefly,
			inject: repeatedly(func(_ context.Context, s *scene) { s.each(harness.Link.Cut) }),
		},
		{name: "RefusedLinks", lasts: briefly, inject: healing(harness.Link.Refuse)},
		{name: "SilentLinks", lasts: briefly, inject: healing(harness.Link.Blackhole)},
		{
			name: "LostRequests", lease: workLease, lasts: beyondLease, loses: true,
			inject: healing(harness.Link.BlackholeRequests),
		},
		{
			name: "LostReplies", lease: workLease, lasts: beyondLease, loses: true,
			inject: healing(harness.Link.BlackholeReplies),
		},
		{
			name: "SlowLinks", lasts: briefly,
			inject: healing(func(l harness.Link) { l.Delay(50 * time.Millisecond) }),
		},
		{name: "CutReplies", lasts: 2 * briefly, inject: losing(harness.Link.CutReply, true)},
		{name: "SwallowedReplies", lasts: 2 * briefly, inject: losing(harness.Link.LoseReply, true)},
		{
			// A renewal is due after a third of the lease, and missed at its end.
			name: "CutRenewals", lease: renewedLease, lasts: renewedLease * 3 / 8,
			keep: renewedLease + 2*settle, calm: true, inject: losing(harness.Link.CutReply, false),
		},
	}
}

// each does something to all links.
func (s *scene) each(do func(harness.Link)) {
	for _, link := range s.links {
		do(link)
	}
}

// healing makes a fault that lasts until the links are restored.
func healing(hit func(harness.Link)) func(context.Context, *scene) func(context.Context) {
	return func(_ context.Context, s *scene) func(context.Context) {
		s.each(hit)
		return func(context.Context) { s.each(harness.Link.Restore) }
	}
}

// repeatedly makes a fault that happens again and again.
func repeatedly(once func(ctx context.Context, s *scene)) func(context.Context, *scene) func(context.Context) {
	return func(ctx context.Context, s *scene) func(context.Context) {
		stop := make(chan struct{})
		stopped := must.Beside(func() {
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
func losing(lose loser, oneOfEach bool) func(context.Context, *scene) func(context.Context) {
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
