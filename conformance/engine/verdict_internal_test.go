package engine

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/history"
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

// TestUndecidedHistories: only a soak goes on after an undecided history, and counts it; a violation ends it.
func TestUndecidedHistories(t *testing.T) {
	t.Parallel()
	undecided := fmt.Errorf("%w: 9 operations", history.ErrUndecided)
	var reached Coverage
	property := &runner{reached: &reached}
	soak := &runner{reached: &reached, soaks: true}
	require.Equal(t, undecided, property.judge(undecided))
	require.Empty(t, reached.copy())
	require.NoError(t, soak.judge(undecided))
	require.NoError(t, soak.judge(nil))
	require.Equal(t, history.ErrViolation, soak.judge(history.ErrViolation))
	require.Equal(t, map[string]int{undecidedHistories: 1, checkedHistories: 1}, reached.copy())
}

// TestSoakThatProvesTooLittle: a soak fails of more than one undecided history for 50 that were checked, and if none
// was checked.
func TestSoakThatProvesTooLittle(t *testing.T) {
	t.Parallel()
	require.NoError(t, tooFewDecided(map[string]int{checkedHistories: 49}))
	require.NoError(t, tooFewDecided(map[string]int{checkedHistories: 50, undecidedHistories: 1}))
	require.ErrorIs(t, tooFewDecided(nil), errNothingChecked)
	err := tooFewDecided(map[string]int{checkedHistories: 49, undecidedHistories: 1})
	require.ErrorIs(t, err, history.ErrUndecided)
	require.EqualError(t, err, "undecided history: 1, beside 49 that were checked")
}
