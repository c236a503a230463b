package repro

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

// acquireCommands are what lock_acquire calls to grant a free lock.
var acquireCommands = []string{"hlen", "time", "get", "set", "pexpire", "hset"}

// TestAcquireThatMayNotExpire acquires as a user whose ACL lacks a command, and who has no right to
// channels, as a new user has none: what the script has taken cannot be given back. Where PEXPIRE was
// refused, a lock stayed that nobody held, for ever.
func TestAcquireThatMayNotExpire(t *testing.T) {
	onBoth(t, func(t *testing.T, s *servers.Server) {
		for _, denied := range acquireCommands {
			acquireWithout(t, s, denied)
		}
	})
}

func acquireWithout(t *testing.T, s *servers.Server, denied string) {
	t.Helper()
	_, err := restricted(t, s, denied).NewLock(denied, nil).Lock(t.Context())
	require.Error(t, err)
	require.Equal(t, denied, lastDenied(t, s), "the server has refused another command")
	require.Equal(t, "-2", do(t, s, "PTTL", denied), "a lock without a holder, as %s is denied", denied)
	require.NotEqual(t, "-1", do(t, s, "PTTL", "redisson_lock_token:{"+denied+"}"),
		"a token key without an expiry, as %s is denied", denied)
	lease, err := client(t, s.Addr()).NewLock(denied, nil).TryLock(t.Context())
	require.NoError(t, err)
	require.NoError(t, lease.Unlock(t.Context()))
}

// waitCommands are what scripts of a mutex call, by which somebody waits and is granted it.
var waitCommands = []string{
	"time", "get", "set", "del", "pttl", "pexpire", "publish", "zadd", "zrange", "zrank", "zmscore", "zremrangebyrank",
	"hset", "hmget", "hdel",
}

// TestMutexThatMayNotWait waits for a mutex as a user whose ACL lacks a command. It gets the mutex or an error,
// and others get it after it. Where only the beats were refused, it waited for ever, without its place.
func TestMutexThatMayNotWait(t *testing.T) {
	onBoth(t, func(t *testing.T, s *servers.Server) {
		allowed, refused := client(t, s.Addr()), 0
		for _, denied := range waitCommands {
			if err := waitWithout(t, s, allowed, denied); err != nil {
				refused++
				require.ErrorContains(t, err, denied)
			}
		}
		require.Greater(t, refused, len(waitCommands)/2)
	})
}

// waitWithout makes a user wait who may not call a command, until the holder leaves or the server refuses.
func waitWithout(t *testing.T, s *servers.Server, allowed *primitives.Client, denied string) error {
	t.Helper()
	name := "mutex " + denied
	held, err := allowed.NewMutex(name, nil).Lock(t.Context())
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got := make(chan error, 1)
	waiter := restricted(t, s, denied).NewMutex(name, &primitives.LockOptions{Lease: 4 * time.Second})
	go func() {
		lease, err := waiter.Lock(ctx)
		if err == nil {
			_ = lease.Unlock(ctx)
		}
		got <- err
	}()
	select {
	case err = <-got:
		require.NoError(t, held.Unlock(t.Context()))
	case <-time.After(2 * time.Second): // Two beats.
		require.NoError(t, held.Unlock(t.Context()))
		err = <-got
	}
	require.NotErrorIs(t, err, context.DeadlineExceeded, denied)
	next, failed := allowed.NewMutex(name, nil).Lock(ctx)
	require.NoError(t, failed, denied)
	require.NoError(t, next.Unlock(ctx))
	return err
}

// restricted returns a client of a user who may do everything but call one command.
func restricted(t *testing.T, s *servers.Server, denied string) *primitives.Client {
	t.Helper()
	do(t, s, "ACL", "SETUSER", denied, "on", ">pw", "~*", "+@all", "-"+denied)
	do(t, s, "ACL", "LOG", "RESET")
	c := cells.At(s.Addr())
	c.User, c.Password, c.RESP2 = denied, "pw", true
	return cells.Named("Rueidis").Primitives(t, c, nil)
}

// lastDenied returns the command that the server refused first since the log was reset.
func lastDenied(t *testing.T, s *servers.Server) string {
	t.Helper()
	reply, err := s.Do("ACL", "LOG")
	require.NoError(t, err)
	entries, err := reply.Items()
	require.NoError(t, err)
	for _, entry := range entries {
		fields, err := entry.Items()
		require.NoError(t, err)
		text := map[string]string{}
		for i := 0; i+1 < len(fields); i += 2 {
			name, _ := fields[i].Text()
			text[name], _ = fields[i+1].Text()
		}
		if text["reason"] == "command" && text["context"] == "lua" {
			return strings.ToLower(text["object"])
		}
	}
	return ""
}

// TestAcquireWithoutMemory: a full server refuses an acquire. It would not, if the script's first
// write were the PEXPIRE of a lock that is not there.
func TestAcquireWithoutMemory(t *testing.T) {
	onBoth(t, func(t *testing.T, s *servers.Server) {
		c := client(t, s.Addr())
		do(t, s, "CONFIG", "SET", "maxmemory", "1")
		_, err := c.NewLock("x", nil).TryLock(t.Context())
		require.ErrorContains(t, err, "OOM")
		require.Equal(t, "-2", do(t, s, "PTTL", "x"))
	})
}

// TestRenewalsRefusedForAllAreNotSearched refuses every renewal of 1000 holds, for a reason that has
// nothing to do with any key: ten scripts a round are all that it takes to know.
func TestRenewalsRefusedForAllAreNotSearched(t *testing.T) {
	bubble(t, func(t *testing.T) {
		u := newUnwilling(t, nil)
		leases := u.hold(t, 1000)
		u.refuse(func([]string) string { return "NOAUTH Authentication required." })
		time.Sleep(30 * time.Second)
		require.ErrorIs(t, leases[0].Err(), primitives.ErrLost)
		require.GreaterOrEqual(t, u.refused.Load(), int64(10))
		require.LessOrEqual(t, u.refused.Load(), int64(100))
		u.close(t)
	})
}

// TestRenewalsDeniedForOneKeyCostOneLease denies one key of 200. It is found by halving its batch of
// 100 seven times at most; from then on nothing is refused but its own renewals, also when those of
// the others are due at the same time, as they are with this lease.
func TestRenewalsDeniedForOneKeyCostOneLease(t *testing.T) {
	bubble(t, func(t *testing.T) {
		u := newUnwilling(t, &primitives.Options{WatchdogLease: 15 * time.Second})
		leases := u.hold(t, 200)
		u.refuse(func(keys []string) string {
			if slices.Contains(keys, "42") {
				return "NOPERM No permissions to access a key"
			}
			return ""
		})
		time.Sleep(time.Minute)
		for i, lease := range leases {
			if i == 42 {
				require.ErrorIs(t, lease.Err(), primitives.ErrLost)
			} else {
				require.NoError(t, lease.Err())
			}
		}
		require.Greater(t, u.refused.Load(), u.halved.Load())
		require.GreaterOrEqual(t, u.halved.Load(), int64(6))
		require.LessOrEqual(t, u.halved.Load(), int64(7))
		u.close(t)
	})
}

// TestRenewalsDeniedByServers takes the access to some keys from a user who holds locks: the others of
// the same batch are renewed.
func TestRenewalsDeniedByServers(t *testing.T) {
	onBoth(t, func(t *testing.T, s *servers.Server) {
		allow := func(keys string) { // To the user u, everything with such keys, and no others.
			do(t, s, "ACL", "SETUSER", "u", "on", "nopass", "+@all", "&*", "resetkeys", keys)
		}
		allow("~*")
		c := cells.Named("Rueidis").Primitives(t,
			cells.Client{Addrs: []string{s.Addr()}, User: "u", Password: "none"},
			&primitives.Options{WatchdogLease: 6 * time.Second})
		leases := map[string][]*primitives.Lease{}
		for i := range 20 {
			for _, prefix := range []string{"kept", "denied"} {
				leases[prefix] = append(leases[prefix], lock(t, c, fmt.Sprint(prefix, i)))
			}
		}
		allow("~kept*")
		for _, lease := range leases["denied"] {
			<-lease.Done()
			require.ErrorIs(t, lease.Err(), primitives.ErrLost)
		}
		for _, lease := range leases["kept"] {
			require.NoError(t, lease.Err())
		}
	})
}

func TestTokenKeyOfAnotherKindIsNamed(t *testing.T) {
	t.Parallel()
	server, c := inProcess(t, nil)
	const token = "redisson_lock_token:{x}"
	for _, command := range [][]string{{"HSET", token, "a", "b"}, {"SET", token, strings.Repeat("a", 20)}} {
		do(t, server, "DEL", token)
		do(t, server, command...)
		_, err := c.NewLock("x", nil).TryLock(t.Context())
		require.ErrorIs(t, err, primitives.ErrConflict)
		require.ErrorContains(t, err, `the token key "redisson_lock_token:{x}" of this lock holds a`)
		cells.Want(t, false)(c.NewLock("x", nil).IsLocked(t.Context()))
	}
}

// unwilling is a backend whose server refuses renewals, as after a change of its access list.
type unwilling struct {
	*cells.Runner
	client          *primitives.Client
	refused, halved atomic.Int64 // renewals, and those of more than one key

	// refusal returns why the renewal of some keys is refused; "": it is not.
	refusal atomic.Pointer[func(keys []string) string]
}

func newUnwilling(t *testing.T, opts *primitives.Options) *unwilling {
	t.Helper()
	u := &unwilling{Runner: runner(t)}
	u.refuse(func([]string) string { return "" })
	u.Instead = func(ctx context.Context, c backend.Call) (backend.Reply, error) {
		refusal := ""
		if strings.Contains(c.Script.Name, "renew") {
			refusal = (*u.refusal.Load())(c.Keys)
		}
		if refusal == "" {
			return u.Good(ctx, c)
		}
		u.refused.Add(1)
		if len(c.Keys) > 1 {
			u.halved.Add(1)
		}
		return backend.Reply{}, backend.ParseServerError(refusal)
	}
	var err error
	u.client, err = primitives.New(u, opts)
	require.NoError(t, err)
	return u
}

func (u *unwilling) refuse(refusal func(keys []string) string) { u.refusal.Store(&refusal) }

// hold takes n locks, named by their numbers.
func (u *unwilling) hold(t *testing.T, n int) (leases []*primitives.Lease) {
	t.Helper()
	for i := range n {
		leases = append(leases, lock(t, u.client, fmt.Sprint(i)))
	}
	return leases
}

// close ends the client and its backend within the test's bubble.
func (u *unwilling) close(t *testing.T) {
	t.Helper()
	u.refuse(func([]string) string { return "" })
	require.NoError(t, u.client.Close(context.Background()))
	require.NoError(t, u.Close())
	time.Sleep(time.Minute) // What is under way arrives.
}
