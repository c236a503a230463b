package engine_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/engine"
)

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
	type step = func(b *engine.Belief) error
	rest := func(at int, d time.Duration) step {
		return func(b *engine.Belief) error { return b.Look(after(at), d) }
	}
	renewed := func(sent, answered int, held bool) step {
		return func(b *engine.Belief) error {
			b.Renewed(engine.Renewal{Sent: after(sent), Answered: after(answered), Held: held})
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
			b := engine.NewBelief(second, 100*ms, after(0))
			require.False(t, b.Granted(after(200)))
			last := len(c.steps) - 1
			for _, s := range c.steps[:last] {
				require.NoError(t, s(b))
			}
			require.Equal(t, c.right, c.steps[last](b) == nil)
		})
	}
}
