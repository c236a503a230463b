package recipes_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/examples/recipes"
	"github.com/hasp-go/hasp/primitives"
)

// candidate is a process that leads when it has the lock, until the test stops it.
type candidate struct {
	stop context.CancelFunc
	left chan error
}

// term is one leadership.
type term struct {
	by    *candidate
	token int64
}

// stand makes a candidate. Terms gets each of its terms when it begins, and inside counts who leads.
func stand(t *testing.T, client *primitives.Client, terms chan<- term, inside *atomic.Int64) *candidate {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	c := &candidate{stop, make(chan error, 1)}
	go func() {
		c.left <- recipes.Lead(ctx, client, "leader", "10.0.0.1:80", func(ctx context.Context, token int64) error {
			if inside.Add(1) != 1 {
				return errors.New("two lead")
			}
			terms <- term{c, token}
			<-ctx.Done()
			inside.Add(-1)
			return nil
		})
	}()
	return c
}

func TestLeadOneAfterTheOther(t *testing.T) {
	onServers(t, func(t *testing.T, process processes) {
		terms := make(chan term, 3)
		var inside atomic.Int64
		for range 3 {
			stand(t, process(), terms, &inside)
		}
		var last int64
		for range 3 {
			now := receive(t, terms)
			require.Greater(t, now.token, last)
			require.Empty(t, terms, "the others wait")
			leader, err := process().NewElection("leader", nil).Leader(t.Context())
			require.NoError(t, err)
			require.Equal(t, "10.0.0.1:80", leader.Value)
			last = now.token
			now.by.stop()
			require.NoError(t, receive(t, now.by.left))
		}
	})
}

// TestLeadStepsDown revokes the lock: the leader steps down, and one of the two leads again.
func TestLeadStepsDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := embedded.NewServer()
		process := onEmbedded(t, server)
		terms := make(chan term, 2)
		var inside atomic.Int64
		for range 2 {
			c := stand(t, process(), terms, &inside)
			defer func() { c.stop(); require.NoError(t, <-c.left) }()
		}
		first := <-terms
		require.NoError(t, server.Revoke("leader"))
		second := <-terms
		require.Greater(t, second.token, first.token)
	})
}

func TestLeadReturnsWhatLeadReturns(t *testing.T) {
	t.Parallel()
	client := onEmbedded(t, embedded.NewServer())()
	failed := errors.New("bad configuration")
	for _, want := range []error{nil, failed} {
		err := recipes.Lead(t.Context(), client, "leader", "", func(context.Context, int64) error { return want })
		require.ErrorIs(t, err, want)
	}
}
