package conformance

import (
	"context"
	"sync"
	"time"
)

// linkFaults are about the links of some clients, while others have none.
func linkFaults() []fault {
	link := []need{needsLink}
	brief := 200 * time.Millisecond
	return []fault{
		{
			name: "CutLinks", needs: link, lease: longLease, lasts: brief, bound: faultBound,
			inject: repeatedly(func(_ context.Context, s *scene) error {
				s.each(Link.Cut)
				return nil
			}),
		},
		{
			name: "RefusedLinks", needs: link, lease: longLease, lasts: brief, bound: faultBound,
			inject: healing(Link.Refuse),
		},
		{
			name: "SilentLinks", needs: link, lease: longLease, lasts: brief, bound: faultBound,
			inject: healing(Link.Blackhole),
		},
		{
			name: "LostRequests", needs: link, lease: workLease, lasts: beyondLease, bound: faultBound,
			loses: true, inject: healing(Link.BlackholeRequests),
		},
		{
			name: "LostReplies", needs: link, lease: workLease, lasts: beyondLease, bound: faultBound,
			loses: true, inject: healing(Link.BlackholeReplies),
		},
		{
			name: "SlowLinks", needs: link, lease: longLease, lasts: brief, bound: faultBound,
			inject: healing(func(l Link) { l.Delay(50 * time.Millisecond) }),
		},
		{
			name: "CutReplies", needs: link, lease: longLease, lasts: 2 * brief, bound: faultBound,
			inject: losing(Link.CutReply, true),
		},
		{
			name: "SwallowedReplies", needs: link, lease: longLease, lasts: 2 * brief, bound: faultBound,
			inject: losing(Link.LoseReply, true),
		},
		{
			// A renewal is due after a third of the lease, and missed at its end.
			name: "CutRenewals", needs: link, lease: renewedLease, lasts: renewedLease * 3 / 8,
			bound: faultBound, keep: renewedLease + 2*settle, calm: true,
			inject: losing(Link.CutReply, false),
		},
	}
}

// renewedLease leaves a slow machine half of it for another try.
const renewedLease = 9 * time.Second

// beyondLease is longer than workLease.
const beyondLease = workLease + workLease/3

// each does something to all links.
func (s *scene) each(do func(Link)) {
	for _, link := range s.links {
		do(link)
	}
}

// healing makes a fault that lasts until the links are restored.
func healing(hit func(Link)) func(context.Context, *scene) (func(context.Context) error, error) {
	return func(_ context.Context, s *scene) (func(context.Context) error, error) {
		s.each(hit)
		return func(context.Context) error { s.each(Link.Restore); return nil }, nil
	}
}

// repeatedly makes a fault that happens again and again.
func repeatedly(
	once func(ctx context.Context, s *scene) error,
) func(context.Context, *scene) (func(context.Context) error, error) {
	return func(ctx context.Context, s *scene) (func(context.Context) error, error) {
		if err := once(ctx, s); err != nil {
			return nil, err
		}
		stop, stopped := make(chan struct{}), make(chan error, 1)
		go func() {
			for {
				select {
				case <-stop:
					stopped <- nil
					return
				case <-time.After(2 * time.Millisecond):
				}
				if err := once(ctx, s); err != nil {
					stopped <- err
					return
				}
			}
		}()
		return func(context.Context) error { close(stop); return <-stopped }, nil
	}
}

// loser is a method of Link that loses one reply.
type loser func(l Link, match func(words []string) bool) <-chan struct{}

// losing makes a fault that loses the replies of scripts one by one: one of each script, or all.
func losing(
	lose loser, oneOfEach bool,
) func(context.Context, *scene) (func(context.Context) error, error) {
	return func(_ context.Context, s *scene) (func(context.Context) error, error) {
		stop := make(chan struct{})
		var all sync.WaitGroup
		s.each(func(l Link) {
			all.Go(func() { s.loseInTurn(l, lose, oneOfEach, stop) })
		})
		return func(context.Context) error {
			close(stop)
			all.Wait()
			s.each(Link.Cut) // What is silent would stay so for as long as a driver waits.
			return nil
		}, nil
	}
}

// loseInTurn loses one reply after the other on a link.
func (s *scene) loseInTurn(l Link, lose loser, oneOfEach bool, stop <-chan struct{}) {
	seen := map[string]bool{} // by one goroutine at a time
	for {
		lost := lose(l, func(words []string) bool {
			select {
			case <-stop:
				return false // It is still armed.
			default:
			}
			if !runsScript(words, s.key) || oneOfEach && seen[words[1]] {
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
