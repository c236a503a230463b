package engine_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/engine"
)

// TestBelief follows a lease of a second that was asked for at the start and granted after 200 ms,
// with an allowance of 100 ms. The last look is right or not.
func TestBelief(t *testing.T) {
	t.Parallel()
	type step = func(b *engine.Belief) error
	held := func(at engine.Moment) step { return func(b *engine.Belief) error { return b.Look(at, true) } }
	lost := func(at engine.Moment) step { return func(b *engine.Belief) error { return b.Look(at, false) } }
	renewed := func(sent int, answered engine.Moment, held bool) step {
		return func(b *engine.Belief) error { b.Renewed(after(sent), answered, held); return nil }
	}
	perhaps := func(sent int) step { return renewed(sent, around(sent+50, 5), true) }
	rest := func(ms int, d time.Duration) step {
		return func(b *engine.Belief) error { return b.Remaining(after(ms), d) }
	}
	for name, c := range map[string]struct {
		steps []step
		right bool
	}{
		"Held":                    {[]step{held(after(899))}, true},
		"LostTooSoon":             {[]step{lost(after(899))}, false},
		"Ended":                   {[]step{lost(after(900))}, true},
		"HeldTooLong":             {[]step{held(after(900))}, false},
		"OpenHeld":                {[]step{held(around(900, 5))}, true},
		"OpenLost":                {[]step{lost(around(900, 5))}, true},
		"LossIsFinal":             {[]step{lost(around(900, 5)), held(after(899))}, false},
		"Rest":                    {[]step{rest(300, 600*time.Millisecond)}, true},
		"RestCountedFromGrant":    {[]step{rest(300, 800*time.Millisecond)}, false},
		"RestOfNothing":           {[]step{rest(900, 0)}, true},
		"NegativeRest":            {[]step{rest(900, -1)}, false},
		"Renewed":                 {[]step{renewed(300, after(400), true), held(after(1199))}, true},
		"RenewalCountedFromReply": {[]step{renewed(300, after(400), true), held(after(1200))}, false},
		"RenewedTooLate":          {[]step{renewed(300, after(900), true), held(after(901))}, false},
		"RenewedJustInTime":       {[]step{renewed(300, around(900, 5), true), held(after(901))}, true},
		"RenewedPerhaps":          {[]step{renewed(300, around(900, 5), true), lost(after(901))}, true},
		"UnheardTwice":            {[]step{perhaps(300), perhaps(600), rest(700, 200*time.Millisecond)}, true},
		"HeardOfTheFirst":         {[]step{perhaps(300), perhaps(600), rest(700, 500*time.Millisecond)}, true},
		"LateAnswerToTheFirst":    {[]step{perhaps(600), renewed(300, around(800, 5), true), rest(900, 600*time.Millisecond)}, true},
		"OvertakenByALaterOne":    {[]step{renewed(500, after(600), true), renewed(300, after(700), true), rest(800, 600*time.Millisecond)}, true},
		"PerhapsByALaterOne":      {[]step{perhaps(600), renewed(300, after(700), true), rest(800, 700*time.Millisecond)}, true},
		"ForgotWhatItHeard":       {[]step{perhaps(300), rest(500, 700*time.Millisecond), rest(510, 390*time.Millisecond)}, false},
		"NotHeld":                 {[]step{renewed(300, after(400), false), lost(after(401))}, true},
		"NotHeldButBelieved":      {[]step{renewed(300, after(400), false), held(after(401))}, false},
		"NotHeldPerhaps":          {[]step{renewed(300, around(400, 5), false), held(after(401)), lost(after(402))}, true},
		"NotHeldBeforeGrant":      {[]step{renewed(150, after(400), false), held(after(401))}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := engine.NewBelief(second, 100*time.Millisecond, after(0))
			require.False(t, b.Granted(after(200)))
			last := len(c.steps) - 1
			for _, s := range c.steps[:last] {
				require.NoError(t, s(b))
			}
			require.Equal(t, c.right, c.steps[last](b) == nil)
		})
	}
}

func TestBeliefIsGoodOrOver(t *testing.T) {
	t.Parallel()
	b := engine.NewBelief(second, 100*time.Millisecond, after(0))
	b.Granted(after(200))
	require.True(t, b.Good(around(890, 5)))
	require.False(t, b.Over(around(890, 5)))
	require.False(t, b.Good(around(900, 5)))
	require.False(t, b.Over(around(900, 5)))
	require.True(t, b.Over(around(910, 5)))
	b.Renewed(after(300), around(400, 5), false)
	require.False(t, b.Good(after(500)), "it may know of its loss")
	require.False(t, b.Over(after(500)))
}

// TestBeliefRenewedBeforeItsGrant: a renewal may come through while the grant's answer is late.
func TestBeliefRenewedBeforeItsGrant(t *testing.T) {
	t.Parallel()
	b := engine.NewBelief(second, 100*time.Millisecond, after(0))
	b.Renewed(after(333), after(340), true)
	require.False(t, b.Granted(after(1000)))
	require.NoError(t, b.Look(after(1232), true))
	require.Error(t, b.Look(after(1233), true))

	late := engine.NewBelief(second, 100*time.Millisecond, after(0))
	late.Renewed(after(333), after(340), false)
	require.True(t, late.Granted(after(900)))
}
