package model_test

import (
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/model"
)

type lockStep struct {
	in  model.LockInput
	out model.LockOutput
}

func granted(hold int, token int64) lockStep {
	return lockStep{out: model.LockOutput{Hold: hold, Token: token}}
}

func about(op model.LockOp, hold int) lockStep {
	return lockStep{in: model.LockInput{Op: op, Hold: hold}}
}

func unanswered(s lockStep) lockStep {
	s.out.Unknown = true
	return s
}

var (
	refused  = lockStep{}
	forgets  = about(model.LockForget, 0)
	lapses   = about(model.LockLapse, 0)
	recovers = about(model.LockRecovery, 0)
)

func believes(hold int) lockStep { return about(model.LockBelieve, hold) }
func released(hold int) lockStep { return about(model.LockRelease, hold) }
func ended(hold int) lockStep    { return about(model.LockEnd, hold) }

// TestLockModel follows one order of steps each, of which the last is possible or not.
func TestLockModel(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		steps    []lockStep
		possible bool
	}{
		"Grant":             {[]lockStep{granted(1, 5)}, true},
		"SecondGrant":       {[]lockStep{granted(1, 5), granted(2, 6)}, false},
		"GrantAfterRelease": {[]lockStep{granted(1, 5), released(1), granted(2, 6)}, true},
		"GrantAfterEnd":     {[]lockStep{granted(1, 5), ended(1), granted(2, 6)}, true},
		"SameToken":         {[]lockStep{granted(1, 5), released(1), granted(2, 5)}, false},
		"LowerToken":        {[]lockStep{granted(1, 5), forgets, granted(2, 4)}, false},
		"RefusalWhileHeld":  {[]lockStep{granted(1, 5), refused}, true},
		"RefusalWhileFree":  {[]lockStep{granted(1, 5), released(1), refused}, false},
		"RefusalWhileAnUnansweredMayHoldIt": {
			[]lockStep{unanswered(lockStep{}), refused}, true,
		},
		"BeliefOfTheHolder":       {[]lockStep{granted(1, 5), believes(1)}, true},
		"BeliefBeforeTheGrant":    {[]lockStep{believes(1)}, false},
		"BeliefAfterTheRelease":   {[]lockStep{granted(1, 5), released(1), believes(1)}, false},
		"BeliefAfterTheEnd":       {[]lockStep{granted(1, 5), ended(1), believes(1)}, false},
		"BeliefAfterAForgetting":  {[]lockStep{granted(1, 5), forgets, granted(2, 6), believes(1)}, true},
		"ReleaseTwice":            {[]lockStep{granted(1, 5), released(1), released(1)}, false},
		"ReleaseOfAnother":        {[]lockStep{granted(1, 5), released(2)}, false},
		"ReleaseWithoutAnAnswer":  {[]lockStep{granted(1, 5), unanswered(released(1)), granted(2, 6)}, true},
		"LateReleaseOfAnother":    {[]lockStep{granted(1, 5), unanswered(released(2)), granted(3, 6)}, false},
		"ReleaseAfterAForgetting": {[]lockStep{granted(1, 5), forgets, released(1)}, false},
		"EndOfAnother":            {[]lockStep{granted(1, 5), ended(2), granted(3, 6)}, false},
		"ForgettingNothing":       {[]lockStep{forgets, believes(1)}, false},
		"TwoGrantsInALapse":       {[]lockStep{granted(1, 5), lapses, granted(2, 6), granted(3, 7)}, true},
		"LowerTokenInALapse":      {[]lockStep{granted(1, 5), lapses, granted(2, 4)}, false},
		"BeliefsAfterALapse": {
			[]lockStep{lapses, granted(1, 5), granted(2, 6), recovers, granted(3, 7), believes(1), believes(2)},
			true,
		},
		"ReleasesAfterALapse": {
			[]lockStep{lapses, granted(1, 5), granted(2, 6), recovers, granted(3, 7), released(1), released(2)},
			true,
		},
		"RefusalAfterALapse":     {[]lockStep{granted(1, 5), lapses, released(1), recovers, refused}, true},
		"SecondGrantAfterALapse": {[]lockStep{lapses, recovers, granted(1, 5), granted(2, 6)}, false},
		"ReleaseTwiceAfterALapse": {
			[]lockStep{lapses, recovers, granted(1, 5), released(1), released(1)}, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := model.Lock()
			state, ok := m.Init(), false
			for i, s := range c.steps {
				ok, state = m.Step(state, s.in, s.out)
				if i < len(c.steps)-1 {
					require.True(t, ok, "step %d", i)
				}
			}
			require.Equal(t, c.possible, ok)
		})
	}
}

// TestLockModelExplainsOverlaps gives the checker a hold that ended unseen, some time after it was
// last believed in.
func TestLockModelExplainsOverlaps(t *testing.T) {
	t.Parallel()
	operation := func(s lockStep, call, ret int64) porcupine.Operation {
		return porcupine.Operation{Input: s.in, Output: s.out, Call: call, Return: ret}
	}
	history := func(lastBelief int64) []porcupine.Operation {
		return []porcupine.Operation{
			operation(granted(1, 5), 0, 10),
			operation(believes(1), lastBelief, lastBelief+1),
			operation(ended(1), lastBelief, 100),
			operation(granted(2, 6), 20, 30),
		}
	}
	require.True(t, porcupine.CheckOperations(model.Lock(), history(12)))
	require.True(t, porcupine.CheckOperations(model.Lock(), history(25)), "the grant may come last")
	require.False(t, porcupine.CheckOperations(model.Lock(), history(31)))
}
