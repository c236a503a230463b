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

var start = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// after is the time so many milliseconds after the start.
func after(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }

const (
	ms     = time.Millisecond
	second = time.Second
)

// TestBelief follows a lease of a second that was asked for at the start and granted after 200 ms,
// with a drift of 100 ms. The last look is right or not.
func TestBelief(t *testing.T) {
	t.Parallel()
	type step = func(b *Belief) error
	rest := func(at int, d time.Duration) step {
		return func(b *Belief) error { return b.Look(after(at), d) }
	}
	renewed := func(sent, answered int, held bool) step {
		return func(b *Belief) error {
			b.Renewed(Renewal{Sent: after(sent), Answered: after(answered), Held: held})
			return nil
		}
	}
	for name, c := range map[string]struct {
		steps []step
		right bool
	}{
		"Held":                    {[]step{rest(899, ms)}, true},
		"LostTooSoon":             {[]step{rest(899, 0)}, false},
		"Ended":                   {[]step{rest(900, 0)}, true},
		"HeldTooLong":             {[]step{rest(900, ms)}, false},
		"Rest":                    {[]step{rest(300, 600*ms)}, true},
		"RestCountedFromGrant":    {[]step{rest(300, 800*ms)}, false},
		"NegativeRest":            {[]step{rest(300, -1)}, false},
		"Renewed":                 {[]step{renewed(300, 400, true), rest(1199, ms)}, true},
		"RenewalCountedFromReply": {[]step{renewed(300, 400, true), rest(1200, ms)}, false},
		"RenewedTooLate":          {[]step{renewed(300, 900, true), rest(901, 299*ms)}, false},
		"OvertakenByALaterOne": {[]step{
			renewed(500, 600, true), renewed(300, 700, true), rest(800, 600*ms),
		}, true},
		"NotHeld":            {[]step{renewed(300, 400, false), rest(401, 0)}, true},
		"NotHeldButBelieved": {[]step{renewed(300, 400, false), rest(401, 499*ms)}, false},
		"LossIsFinal":        {[]step{renewed(300, 400, false), rest(401, 0), rest(402, 498*ms)}, false},
		"NotHeldBeforeGrant": {[]step{renewed(150, 400, false), rest(401, 499*ms)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := NewBelief(second, 100*ms, after(0))
			require.False(t, b.Granted(after(200)))
			last := len(c.steps) - 1
			for _, s := range c.steps[:last] {
				require.NoError(t, s(b))
			}
			require.Equal(t, c.right, c.steps[last](b) == nil)
		})
	}
}
