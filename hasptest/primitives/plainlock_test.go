package primitives_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
)

// TestPlainLockIsAnotherProgramsLock: the key is the name behind the prefix, and nothing is stored beside it. An acquire is
// one command, after a first one that asks for permissions.
func TestPlainLockIsAnotherProgramsLock(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		var sent [][]string
		s.seen = func(script string, keys, args []string) {
			sent = append(sent, append([]string{script, keys[0]}, args...))
		}
		lock, owners := s.client(t, &primitives.Options{KeyPrefix: "app:"}).NewPlainLock("x", nil), map[string]bool{}
		for range 3 {
			lease := must(lock.Lock(t.Context()))(t)
			owners[lease.Owner()] = true
			require.Equal(t, []string{lease.Owner()}, s.do("GET", "app:x"))
			require.Equal(t, []string{"30000"}, s.do("PTTL", "app:x"))
			require.Equal(t, []string{"app:x"}, s.do("KEYS", "*"))
			require.Zero(t, lease.Token())
			require.ErrorIs(t, errOf(lock.TryLock(t.Context())), primitives.ErrNotAcquired)
			require.NoError(t, lease.Release(t.Context()))
			require.Empty(t, s.do("KEYS", "*"))
		}
		require.Len(t, owners, 3)
		require.Equal(t, "plain_acquire", sent[0][0])
		require.Equal(t, append([]string{"plain_set", "app:x", sent[1][2]}, "NX", "GET", "PX", "30000"), sent[1])
		require.Equal(t, 9, len(sent))
		require.Equal(t, 5, s.called("plain_set"))
	})
}

// TestPlainLockSentTwice: a link sends each command again, before it has the answer.
func TestPlainLockSentTwice(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		once := s.run
		s.run = func(script *backend.Script, keys, args []string) (backend.Reply, error) {
			if _, err := once(script, keys, args); err != nil || script.Name == "plain_release" {
				return backend.IntegerReply(1), err
			}
			return once(script, keys, args)
		}
		lock := s.client(t, nil).NewPlainLock("x", nil)
		for range 2 {
			lease := must(lock.TryLock(t.Context()))(t)
			require.ErrorIs(t, errOf(lock.TryLock(t.Context())), primitives.ErrNotAcquired)
			lease.Forget()
			lease = must(lock.Adopt(t.Context(), lease.Owner()))(t)
			require.NoError(t, lease.Release(t.Context()))
			require.Empty(t, s.holder("x"))
		}
	})
}

// TestPlainLockPolls: another program's lock has no expiry, and ends without a message. A client's waiters share their
// tries, of which there are about five in a second. Each wakes the next by its release.
func TestPlainLockPolls(t *testing.T) {
	t.Parallel()
	for name, waiters := range map[string]int{"one": 1, "many": 100} {
		subtest(t, name, func(t *testing.T, s *server) {
			s.do("SET", "x", "their text")
			lock, granted := s.client(t, nil).NewPlainLock("x", nil), make(chan time.Time, waiters)
			for range waiters {
				go func() {
					_ = lock.Do(t.Context(), func(context.Context, *primitives.Lease) error {
						granted <- time.Now()
						return nil
					})
				}()
			}
			time.Sleep(time.Minute)
			begin := s.called("plain_acquire")
			time.Sleep(time.Minute)
			require.InDelta(t, 6*60, s.called("plain_acquire")-begin, 2*60)
			s.do("DEL", "x")
			freed := time.Now()
			require.LessOrEqual(t, (<-granted).Sub(freed), 250*time.Millisecond)
			freed = time.Now()
			for range waiters - 1 {
				require.LessOrEqual(t, (<-granted).Sub(freed), 200*time.Millisecond)
			}
		})
	}
}

// TestLateGrantProvesNoRights: it is of an acquire that did not ask for permissions. Since then the client was refused a call,
// and so the next acquire asks.
func TestLateGrantProvesNoRights(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		lock := s.client(t, nil).NewPlainLock("x", nil)
		require.NoError(t, must(lock.Lock(t.Context()))(t).Release(t.Context()))
		s.set(func() {
			s.fault = func(script string) fault {
				return map[string]fault{
					"plain_set":       {before: 2 * time.Second},
					"plain_remaining": {err: &backend.ServerError{Code: "NOPERM", Message: "NOPERM no"}},
				}[script]
			}
		})
		require.ErrorIs(t, errOf(lock.Lock(within(t, time.Second))), primitives.ErrIndeterminate)
		require.ErrorIs(t, errOf(lock.Remaining(t.Context())), primitives.ErrNoPermission)
		time.Sleep(10 * time.Second)
		require.NoError(t, must(lock.Lock(t.Context()))(t).Release(t.Context()))
		require.Equal(t, []int{2, 1}, []int{s.called("plain_acquire"), s.called("plain_set")})
	})
}

// TestAdopt hands a lock on to another client, and that again to a third. All that the former holders do later, or have
// done, changes nothing.
func TestAdopt(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		first, second := s.client(t, nil), s.client(t, nil)
		former := must(first.NewPlainLock("x", nil).Lock(t.Context()))(t)
		s.faultOf("mutex_renew", fault{before: 25 * time.Second}) // One is under way until long after.
		time.Sleep(11 * time.Second)
		former.Forget()
		require.NoError(t, first.Close(t.Context()))
		s.faults(fault{})
		lease := must(second.NewPlainLock("x", nil).Adopt(t.Context(), former.Owner()))(t)
		require.NotEqual(t, former.Owner(), lease.Owner())
		require.Equal(t, []string{lease.Owner(), "30000"}, append(s.do("GET", "x"), s.do("PTTL", "x")...))
		require.ErrorIs(t, errOf(second.NewPlainLock("x", nil).Adopt(t.Context(), former.Owner())), primitives.ErrNotHeld)
		time.Sleep(time.Minute)
		require.NoError(t, lease.Err())
		require.ErrorIs(t, errOf(second.NewPlainLock("x", nil).TryLock(t.Context())), primitives.ErrNotAcquired)

		lease.Forget()
		fixed := second.NewPlainLock("x", &primitives.PlainLockOptions{Lease: time.Minute})
		last := must(fixed.Adopt(t.Context(), lease.Owner()))(t)
		require.NoError(t, last.Extend(t.Context(), time.Hour))
		inner := must(fixed.Lock(last.Reenter(t.Context())))(t)
		require.NoError(t, inner.Release(t.Context()))
		require.NoError(t, last.Release(t.Context()))
		require.Empty(t, s.holder("x"))
		require.ErrorIs(t, errOf(fixed.Adopt(t.Context(), last.Owner())), primitives.ErrNotHeld)
	})
}

// TestAdoptWithoutForget: the former holder learns of its loss at its next renewal, which the adopter's client may send.
func TestAdoptWithoutForget(t *testing.T) {
	t.Parallel()
	for _, own := range []bool{false, true} {
		subtest(t, fmt.Sprint("own ", own), func(t *testing.T, s *server) {
			c := s.client(t, nil)
			adopter := c.NewPlainLock("x", nil)
			if !own {
				adopter = s.client(t, nil).NewPlainLock("x", nil)
			}
			former := must(c.NewPlainLock("x", nil).Lock(t.Context()))(t)
			time.Sleep(time.Second)
			lease := must(adopter.Adopt(t.Context(), former.Owner()))(t)
			require.NoError(t, former.Err(), "it does not know yet")
			<-former.Done()
			require.Equal(t, &primitives.LossError{Reason: primitives.LossTaken, Holder: lease.Owner()}, former.Err())
			require.ErrorIs(t, former.Release(t.Context()), primitives.ErrNotHeld)
			time.Sleep(time.Minute)
			// Under a context that re-enters a lease, there is nothing to re-enter: the owner is another.
			require.ErrorIs(t, errOf(adopter.Adopt(lease.Reenter(t.Context()), former.Owner())), primitives.ErrNotHeld)
			require.NoError(t, lease.Release(t.Context()))
		})
	}
}

// TestAdoptOnce: of many adopters of an owner one gets the lock.
func TestAdoptOnce(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		former := must(s.client(t, nil).NewPlainLock("x", nil).Lock(t.Context()))(t)
		former.Forget()
		s.faults(fault{before: time.Millisecond, after: time.Millisecond})
		var adopted []<-chan *primitives.Lease
		for range 10 {
			lock := s.client(t, nil).NewPlainLock("x", nil)
			adopted = append(adopted, leased(t.Context(), func(ctx context.Context) (*primitives.Lease, error) {
				lease, err := lock.Adopt(ctx, former.Owner())
				if err != nil {
					require.ErrorIs(t, err, primitives.ErrNotHeld)
				}
				return lease, err
			}))
		}
		var leases []*primitives.Lease
		for _, one := range adopted {
			if lease := <-one; lease != nil {
				leases = append(leases, lease)
			}
		}
		require.Len(t, leases, 1)
		require.Equal(t, leases[0].Owner(), s.holder("x"))
		require.NoError(t, leases[0].Release(t.Context()))
	})
}

// TestAdoptNothing: nobody can adopt what nobody holds any more, what another holds, or what is no lock. Nothing is changed.
func TestAdoptNothing(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		former := must(s.client(t, nil).NewPlainLock("x", nil).Lock(t.Context()))(t)
		adopter := s.client(t, nil).NewPlainLock("x", nil)
		former.Forget() // And its process crashes, or the message to the adopter is lost.
		time.Sleep(time.Minute)
		require.ErrorIs(t, errOf(adopter.Adopt(t.Context(), former.Owner())), primitives.ErrNotHeld)
		require.Empty(t, s.holder("x"))
		s.do("SET", "x", "their text")
		require.ErrorIs(t, errOf(adopter.Adopt(t.Context(), former.Owner())), primitives.ErrNotHeld)
		require.Equal(t, []string{"their text", "-1"}, append(s.do("GET", "x"), s.do("PTTL", "x")...))
		for range 2 { // It may also be another program's. It then has an expiry.
			lease := must(adopter.Adopt(t.Context(), "their text"))(t)
			require.NoError(t, lease.Release(t.Context()))
			s.do("SET", "x", "their text")
		}
		require.NoError(t, errOf(adopter.Revoke(t.Context(), "")))
		for _, owner := range []string{"", revokedOwner} {
			require.ErrorAs(t, errOf(adopter.Adopt(t.Context(), owner)), new(*primitives.FieldError))
		}
		s.lose("x")
		s.do("RPUSH", "x", "an item")
		require.ErrorIs(t, errOf(adopter.Adopt(t.Context(), former.Owner())), primitives.ErrConflict)
		require.Equal(t, []string{"an item"}, s.do("LRANGE", "x", "0", "-1"))
	})
}

// TestAdoptGivesBack: the client of an adopter that has left, or whose answer was lost, releases what it took over. One
// leaves when the server grants the lock, perhaps before the answer comes.
func TestAdoptGivesBack(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]fault{
		"slow": {before: 2 * time.Second}, "silent": {after: time.Hour}, "broken": {broken: true},
		"early": {early: true, before: 2 * time.Second}, "granted": {},
	} {
		subtest(t, name, func(t *testing.T, s *server) {
			first, adopter := s.client(t, nil).NewPlainLock("x", nil), s.client(t, nil).NewPlainLock("x", nil)
			s.faultOf("plain_adopt", f)
			for range 30 {
				former := must(first.Lock(t.Context()))(t)
				former.Forget()
				ctx, leave := context.WithTimeout(t.Context(), time.Second)
				s.set(func() {
					s.ran = func(script string, _, _ []string, _ backend.Reply) {
						if script == "plain_adopt" && name == "granted" {
							leave()
						}
					}
				})
				want := map[bool]error{true: context.Canceled, false: primitives.ErrIndeterminate}[name == "granted"]
				require.ErrorIs(t, errOf(adopter.Adopt(ctx, former.Owner())), want)
				time.Sleep(10 * time.Second)
				require.Empty(t, s.holder("x"))
				leave()
			}
		})
	}
}

// TestPlainLockCountsListeners: a release says how many clients hear it, so that not all of a crowd try at once.
func TestPlainLockCountsListeners(t *testing.T) {
	t.Parallel()
	for name, release := range map[string]string{"x": "plain_release", "{x}": "tagged_release"} {
		subtest(t, release, func(t *testing.T, s *server) {
			lease := must(s.client(t, nil).NewPlainLock(name, nil).Lock(t.Context()))(t)
			answers := make(chan backend.Reply, 3)
			s.set(func() {
				s.ran = func(script string, _, _ []string, reply backend.Reply) {
					if script == release {
						answers <- reply
					}
				}
			})
			for range cap(answers) - 1 {
				waiter := s.over(t, s.newOwnLink(t), nil).NewPlainLock(name, nil)
				go func() { _ = waiter.Do(t.Context(), func(context.Context, *primitives.Lease) error { return nil }) }()
			}
			time.Sleep(time.Second)
			require.NoError(t, lease.Release(t.Context()))
			require.EqualValues(t, cap(answers), must((<-answers).Int())(t))
			<-answers
			<-answers
		})
	}
}
