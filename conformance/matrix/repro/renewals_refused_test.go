package repro

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/embedded"
	rueidisbackend "github.com/hasp-go/hasp/backend/rueidis"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

// TestRenewalsRefusedForAllAreNotSearched refuses every renewal of 1000 holds, for a reason that has
// nothing to do with any key: ten scripts a round are all that it takes to know.
func TestRenewalsRefusedForAllAreNotSearched(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := newUnwilling(t, nil)
		leases := u.hold(t, 1000)
		u.refuse(func([]string) string { return "NOAUTH Authentication required." })
		time.Sleep(30 * time.Second)
		require.ErrorIs(t, leases[0].Err(), primitives.ErrLost)
		require.GreaterOrEqual(t, u.refused(), 10)
		require.LessOrEqual(t, u.refused(), 100)
		u.close(t)
	})
}

// TestRenewalsDeniedForOneKeyCostOneLease denies one key of 200. It is found by halving its batch of
// 100 seven times at most; from then on nothing is refused but its own renewals, also when those of
// the others are due at the same time, as they are with this lease.
func TestRenewalsDeniedForOneKeyCostOneLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
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
		require.Greater(t, u.refused(), u.halved)
		require.GreaterOrEqual(t, u.halved, 6)
		require.LessOrEqual(t, u.halved, 7)
		u.close(t)
	})
}

// TestRenewalsDeniedByServers takes the access to some keys from a user who holds locks: the others of
// the same batch are renewed.
func TestRenewalsDeniedByServers(t *testing.T) {
	t.Parallel()
	for _, kind := range []servers.Kind{servers.Redis, servers.Valkey} {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			s := servers.Start(t, kind, nil)
			allowUser(t, s, "~*")
			c := over(t, rueidisAs(t, s.Addr(), "u"), &primitives.Options{WatchdogLease: 6 * time.Second})
			leases := map[string][]*primitives.Lease{}
			for i := range 20 {
				for _, prefix := range []string{"kept", "denied"} {
					lease, err := c.NewLock(fmt.Sprint(prefix, i), nil).Lock(t.Context())
					require.NoError(t, err)
					leases[prefix] = append(leases[prefix], lease)
				}
			}
			allowUser(t, s, "~kept*")
			for _, lease := range leases["denied"] {
				<-lease.Done()
				require.ErrorIs(t, lease.Err(), primitives.ErrLost)
			}
			for _, lease := range leases["kept"] {
				require.NoError(t, lease.Err())
			}
		})
	}
}

// allowUser lets the user u do everything to keys of the given pattern, and to no others.
func allowUser(t *testing.T, s *servers.Server, keys string) {
	t.Helper()
	_, err := s.Do("ACL", "SETUSER", "u", "on", "nopass", "+@all", "&*", "resetkeys", keys)
	require.NoError(t, err)
}

// rueidisAs returns a backend whose user has no password.
func rueidisAs(t *testing.T, addr, user string) backend.Backend {
	t.Helper()
	r, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{addr}, Username: user, Password: "none",
	})
	require.NoError(t, err)
	t.Cleanup(r.Close)
	b, err := rueidisbackend.New(r, nil)
	require.NoError(t, err)
	return b
}

func TestTokenKeyOfAnotherKindIsNamed(t *testing.T) {
	t.Parallel()
	server, c := inProcess(t, nil)
	const token = "redisson_lock_token:{x}"
	for _, command := range [][]string{{"HSET", token, "a", "b"}, {"SET", token, strings.Repeat("a", 20)}} {
		_, err := server.Do("DEL", token)
		require.NoError(t, err)
		_, err = server.Do(command...)
		require.NoError(t, err)
		_, err = c.NewLock("x", nil).TryLock(t.Context())
		require.ErrorIs(t, err, primitives.ErrConflict)
		require.ErrorContains(t, err, `the token key "redisson_lock_token:{x}" of this lock holds a`)
		locked, err := c.NewLock("x", nil).IsLocked(t.Context())
		require.NoError(t, err)
		require.False(t, locked)
	}
}

// unwilling is a backend whose server refuses renewals, as after a change of its access list.
type unwilling struct {
	backend.Backend
	client *primitives.Client

	mu       sync.Mutex
	refusal  func(keys []string) string // "": none
	refusals int
	halved   int // refusals of more than one key
}

func newUnwilling(t *testing.T, opts *primitives.Options) *unwilling {
	t.Helper()
	e, err := embedded.New(embedded.NewServer(), nil)
	require.NoError(t, err)
	u := &unwilling{Backend: e}
	u.client, err = primitives.New(u, opts)
	require.NoError(t, err)
	return u
}

// hold takes n locks, named by their numbers.
func (u *unwilling) hold(t *testing.T, n int) (leases []*primitives.Lease) {
	t.Helper()
	for i := range n {
		lease, err := u.client.NewLock(fmt.Sprint(i), nil).Lock(t.Context())
		require.NoError(t, err)
		leases = append(leases, lease)
	}
	return leases
}

func (u *unwilling) refuse(refusal func(keys []string) string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.refusal = refusal
}

// refused returns how many renewals were refused.
func (u *unwilling) refused() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.refusals
}

// close ends the client and its backend within the test's bubble.
func (u *unwilling) close(t *testing.T) {
	t.Helper()
	u.refuse(nil)
	require.NoError(t, u.client.Close(context.Background()))
	require.NoError(t, u.Close())
	time.Sleep(time.Minute) // What is under way arrives.
}

func (u *unwilling) Run(
	ctx context.Context, s *backend.Script, keys, args []string,
) (backend.Reply, error) {
	if strings.Contains(s.Name, "renew") {
		if err := u.refuses(keys); err != nil {
			return backend.Reply{}, err
		}
	}
	return u.Backend.Run(ctx, s, keys, args)
}

func (u *unwilling) refuses(keys []string) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.refusal == nil || u.refusal(keys) == "" {
		return nil
	}
	u.refusals++
	if len(keys) > 1 {
		u.halved++
	}
	return backend.ParseServerError(u.refusal(keys))
}
