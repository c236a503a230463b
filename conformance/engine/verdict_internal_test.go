package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
)

// TestDoneBeforeTheEnd: a lease whose Done is closed, although its holder can believe in it, is a failure.
func TestDoneBeforeTheEnd(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	close(done)
	l := &heldLease[int, string, bool]{done: done, claim: &claim[int, string, bool]{belief: NewBelief(time.Hour, 0, time.Now())}}
	err := must.Catch(func() { (&machine[int, string, bool]{}).lookAtLease(l) })
	require.ErrorContains(t, err, "Done is closed, and it is held")
}

// TestWaitsForTooLong: nobody wakes a waiter whose object has been free for a time, and the waiter looks by itself
// once in every 110 ms. On a link without delay it may take 5 ms more.
func TestWaitsForTooLong(t *testing.T) {
	t.Parallel()
	began := time.Now()
	m := &machine[int, string, bool]{
		world: &world{
			Env: harness.NewEnv(&harness.Harness{}), setting: setting{poll: 100 * time.Millisecond},
			parties: []*party{{link: &troubled{}}},
		},
		of: &Primitive[int, string, bool]{},
	}
	c := &call[int, string, bool]{op: &Op[int, string, bool]{Waits: true}, object: &object[int]{name: "key"}, there: began}
	waits := func(ms int) error {
		return must.Catch(func() { m.waitedInVain(c, began.Add(time.Duration(ms)*time.Millisecond)) })
	}
	require.NoError(t, waits(115))
	require.ErrorContains(t, waits(116), "client 0 waits")
}
