package primitives_test

import (
	"context"
	"io"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/primitives"
	"github.com/hasp-go/hasp/primitives/inspect"
)

// listedBy returns the names and kinds of a list.
func listedBy(t *testing.T, c *primitives.Client, pattern string, opts *inspect.ListOptions) (all []string) {
	t.Helper()
	for o, err := range inspect.List(t.Context(), c, pattern, opts) {
		require.NoError(t, err)
		all = append(all, o.Name+" "+string(o.Kind))
	}
	slices.Sort(all)
	return all
}

// listing runs a test with a client, and another client that lists.
func listing(t *testing.T, test func(c, asks *primitives.Client)) {
	t.Helper()
	t.Parallel()
	s := embedded.NewServer()
	open := func() *primitives.Client {
		c, err := embedded.NewClient(s, nil)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, c.Close(context.Background())) })
		return c
	}
	test(open(), open())
}

func TestInspectListYieldsEachObjectOnce(t *testing.T) {
	listing(t, func(c, asks *primitives.Client) {
		for _, name := range []string{"a", "b{tag}", "free"} {
			lease, err := c.NewLock(name, nil).Lock(t.Context())
			require.NoError(t, err)
			if name == "free" {
				require.NoError(t, lease.Release(t.Context()))
			}
		}
		_, err := c.NewMutex("a", nil).Lock(t.Context())
		require.NoError(t, err)
		_, err = c.NewReadWriteLock("rw", nil).ReadLock().Lock(t.Context())
		require.NoError(t, err)
		_, err = c.NewAtomicLong("n").Add(t.Context(), 5)
		require.NoError(t, err)
		want := []string{"a lock", "a mutex", "b{tag} lock", "free lock", "rw read-write lock"}
		require.Equal(t, want, listedBy(t, asks, "", nil))
		require.Equal(t, want, listedBy(t, asks, "", &inspect.ListOptions{Step: 1}))
		require.Equal(t, want[:2], listedBy(t, asks, "[a]", nil))
		require.Contains(t, listedBy(t, asks, "", &inspect.ListOptions{Plain: true}), "n atomic long")
	})
}

func TestInspectListRefuses(t *testing.T) {
	listing(t, func(c, asks *primitives.Client) {
		for _, err := range inspect.List(t.Context(), asks, "", &inspect.ListOptions{Step: -1}) {
			require.ErrorAs(t, err, new(*primitives.FieldError))
		}
		ended, turn := 0, func(context.Context) error { return io.EOF }
		for _, err := range inspect.List(t.Context(), asks, "", &inspect.ListOptions{Turn: turn}) {
			require.ErrorIs(t, err, io.EOF)
			ended++
		}
		require.NoError(t, c.Close(t.Context()))
		for _, err := range inspect.List(t.Context(), c, "", nil) {
			require.ErrorIs(t, err, backend.ErrClosed)
			ended++
		}
		require.Equal(t, 2, ended)
	})
}
