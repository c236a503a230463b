package readwrite

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

// Test1098NamesInACluster uses names with braces, colons, dots and spaces in a cluster, where all keys
// of a lock must be in one slot, with every driver.
func Test1098NamesInACluster(t *testing.T) {
	t.Parallel()
	c := servers.StartCluster(t, servers.Redis, 3, nil)
	at := cells.Client{Cluster: true}
	for _, node := range c.Nodes {
		at.Addrs = append(at.Addrs, node.Addr())
	}
	for _, a := range cells.Adapters() {
		t.Run(a.Name, func(t *testing.T) {
			t.Parallel()
			o := &primitives.Options{KeyPrefix: a.Name + ":", PollInterval: time.Hour}
			one, other := a.Primitives(t, at, o), a.Primitives(t, at, o)
			for _, name := range []string{"{a}:b", "a{b}c", "a:b", "a.b", "a b", "ключ", "a:write"} {
				useBothSides(t, one.NewReadWriteLock(name, nil), other.NewReadWriteLock(name, nil))
			}
		})
	}
}

// useBothSides makes one wait for the other, both ways.
func useBothSides(t *testing.T, l, other *primitives.ReadWriteLock) {
	t.Helper()
	writer := taken(t.Context(), t, l.WriteLock())
	reader := taken(writer.Reenter(t.Context()), t, l.ReadLock())
	waiter := waiting(t, other.ReadLock())
	unlock(t, writer)
	joined := in(t, waiter)
	waiter = waiting(t, other.WriteLock())
	unlock(t, reader, joined)
	unlock(t, in(t, waiter))
	cells.Want(t, false)(l.ReadLock().IsLocked(t.Context()))
	cells.Want(t, false)(l.WriteLock().IsLocked(t.Context()))
}

// TestNamesWithoutAHashTag are refused, on any server: nothing is sent.
func TestNamesWithoutAHashTag(t *testing.T) {
	t.Parallel()
	s := servers.Start(t, servers.Redis, nil)
	for _, name := range []string{"", "{", "{}", "a{b", "{}a{b}"} {
		l := client(t, s).NewReadWriteLock(name, nil)
		for _, side := range []side{l.ReadLock(), l.WriteLock()} {
			_, err := side.TryLock(t.Context())
			var field *primitives.FieldError
			require.ErrorAs(t, err, &field)
			require.Equal(t, "name", field.Field)
		}
	}
}
