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
	link := []harness.Need{harness.Faults}
	brief := 200 * time.Millisecond
	return []fault{
		{
			name: "CutLinks", needs: link, lease: longLease, lasts: brief,
			inject: repeatedly(func(_ context.Context, s *scene) { s.each(harness.Link.Cut) }),
		},
		{
			name: "RefusedLinks", needs: link, lease: longLease, lasts: brief,
			inject: healing(harness.Link.Refuse),
		},
		{
			name: "SilentLinks", needs: link, lease: longLease, lasts: brief,
			inject: healing(harness.Link.Blackhole),
		},
		{
			name: "LostRequests", needs: link, lease: workLease, lasts: beyondLease,
			loses: true, inject: healing(harness.Link.BlackholeRequests),
		},
		{
			name: "LostReplies", needs: link, lease: workLease, lasts: beyondLease,
			loses: true, inject: healing(harness.Link.BlackholeReplies),
		},
		{
			name: "SlowLinks", needs: link, lease: longLease, lasts: brief,
			inject: healing(func(l harness.Link) { l.Delay(50 * time.Millisecond) }),
		},
		{
			name: "CutReplies", needs: link, lease: longLease, lasts: 2 * brief,
			inject: losing(harness.Link.CutReply, true),
		},
		{
			name: "SwallowedReplies", needs: link, lease: longLease, lasts: 2 * brief,
			inject: losing(harness.Link.LoseReply, true),
		},
		{
			// A renewal is due after a third of the lease, and missed at its end.
			name: "CutRenewals", needs: link, lease: renewedLease, lasts: renewedLease * 3 / 8,
			keep: renewedLease + 2*settle, calm: true,
			inject: losing(harness.Link.CutReply, false),
		},
	}
}

// renewedLease leaves a slow machine half of it for another try.
const renewedLease = 9 * time.Second

// beyondLease is longer than workLease.
const beyondLease = workLease + workLease/3

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
		once(ctx, s)
		stop := make(chan struct{})
		stopped := must.Beside(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(2 * time.Millisecond):
				}
				once(ctx, s)
			}
		})
		return func(context.Context) { close(stop); must.Do(<-stopped) }
	}
}

// loser is a method of Link that loses one reply.
type loser func(l harness.Link, match func(words []string) bool) <-chan struct{}

// losing makes a fault that loses the replies of scripts one by one: one of each script, or all.
func losing(
	lose loser, oneOfEach bool,
) func(context.Context, *scene) func(context.Context) {
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
	for {
		lost := lose(l, func(words []string) bool {
			select {
			case <-stop:
				return false // It is still armed.
			default:
			}
			if !harness.RunsScript(words, s.key) || oneOfEach && seen[words[1]] {
				return false
			}
			seen[words[1]] = true
			return true
		})
		select {
		case <-lost:
			s.reach("reply lost on purpose")
		case <-stop:
			return
		}
	}
}
