package rights

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

// TestReleaseRightsAreAskedOnce takes each permission of each lock from a user. Before a client's first acquire: it is
// refused, and has changed nothing; or its release needs no such permission. And after that: the next one is refused,
// and has changed nothing, no token either; or each key has an expiry, and after a refused release the client asks again.
func TestReleaseRightsAreAskedOnce(t *testing.T) {
	cells.OnBoth(t, func(t *testing.T, s *servers.Server) {
		allow(t, s, base, "+@all ~* &*")
		at := cells.At(s.Addr())
		at.User, at.Password = "app", "secret"
		b, refused := cells.Named("GoRedis").Backend(t, at), map[bool]int{}
		for name, o := range lockers(cells.Over(t, b, nil), "app:x") {
			rights := o.Rights()
			for i, rule := range rights {
				for _, before := range []bool{true, false} {
					l, _ := lockerOf(lockers(cells.Over(t, b, nil), "app:x")[name])
					do(t, s, "FLUSHALL")
					allow(t, s, base, rights...)
					if !before {
						require.NoError(t, must.Get(l.TryLock(t.Context())).Release(t.Context()))
					}
					allow(t, s, base, slices.Delete(slices.Clone(rights), i, i+1)...)
					if without(t, s, l, before, fmt.Sprintf("%s without %s, before: %t", name, rule, before)) {
						refused[before]++
					}
				}
			}
			allow(t, s, base, "+@all ~* &*") // The clients close: they release what they could not.
		}
		t.Log(refused)
		require.Greater(t, refused[true], 80)
		require.Greater(t, refused[false], 30)
	})
}

// without acquires and releases l without a permission, before or after the client has asked for it, and reports
// whether the acquire was refused.
func without(t *testing.T, s *servers.Server, l locker, before bool, what string) bool {
	t.Helper()
	was := storedIn(t, s)
	lease, err := l.TryLock(t.Context())
	is := storedIn(t, s)
	if err != nil {
		require.ErrorIs(t, err, primitives.ErrNoPermission, what)
		require.Equal(t, was.comparable(), is.comparable(), what)
		return true
	}
	for key, words := range is {
		require.NotEqual(t, "-1", words[1], "%s: %s has no expiry", what, key)
	}
	if err = lease.Release(t.Context()); before {
		require.NoError(t, err, what)
	} else if err != nil {
		require.ErrorIs(t, err, primitives.ErrNoPermission, what)
		do(t, s, "FLUSHALL")
		require.ErrorIs(t, cells.Err(l.TryLock(t.Context())), primitives.ErrNoPermission, what)
	}
	return false
}

// storedIn returns the state of a server.
func storedIn(t *testing.T, s *servers.Server) state {
	t.Helper()
	return parseState(must.Get(must.Get(s.Do("EVAL", readState, "0")).Text()))
}
