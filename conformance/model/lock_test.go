package model_test

import (
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

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
	forgets7 = lockStep{in: model.LockInput{Op: model.LockForget, Forgetting: 7}}
	learn7   = lockStep{in: model.LockInput{Op: model.LockLearn, Forgetting: 7}}
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
		"BeliefWhenItMustBeKnown": {
			[]lockStep{granted(1, 5), forgets7, granted(2, 6), learn7, believes(1)}, false,
		},
		"BeliefOfAnotherWhenItMustBeKnown": {
			[]lockStep{granted(1, 5), forgets7, granted(2, 6), forgets, learn7, believes(2)}, true,
		},
		"BeliefInWhatALapseBroughtBack": {
			[]lockStep{granted(1, 5), forgets7, lapses, recovers, learn7, believes(1)}, true,
		},
		"BeliefInWhatWasForgottenInALapse": {
			[]lockStep{granted(1, 5), lapses, forgets7, recovers, learn7, believes(1)}, true,
		},
		"EndOfAnother":       {[]lockStep{granted(1, 5), ended(2), granted(3, 6)}, false},
		"ForgettingNothing":  {[]lockStep{forgets, believes(1)}, false},
		"TwoGrantsInALapse":  {[]lockStep{granted(1, 5), lapses, granted(2, 6), granted(3, 7)}, true},
		"LowerTokenInALapse": {[]lockStep{granted(1, 5), lapses, granted(2, 4)}, false},
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

// TestLockModelNarrowsSoundly compares with the model that leaves open what is open.
func TestLockModelNarrowsSoundly(t *testing.T) {
	t.Parallel()
	wide := model.Lock()
	wide.Partition = nil
	explained := 0
	rapid.Check(t, func(t *rapid.T) {
		history := drawHistory(t)
		want := porcupine.CheckOperations(wide, history)
		require.Equal(t, want, porcupine.CheckOperations(model.Lock(), history))
		if want {
			explained++
		}
	})
	require.Positive(t, explained)
}

// drawHistory draws holds that follow each other closely, or overlap a little.
func drawHistory(t *rapid.T) (history []porcupine.Operation) {
	const open = 1000
	now := int64(0)
	add := func(s lockStep, lasts int64) {
		call := now + int64(rapid.IntRange(-3, 1).Draw(t, "call"))
		history = append(history, porcupine.Operation{
			ClientId: len(history), Input: s.in, Call: call, Output: s.out, Return: call + lasts,
		})
		now += 2
	}
	lasts := rapid.Int64Range(1, 6)
	for hold := range rapid.IntRange(1, 5).Draw(t, "holds") {
		hold++
		add(granted(hold, int64(2*hold+rapid.IntRange(0, 2).Draw(t, "token"))), lasts.Draw(t, "grant"))
		for range rapid.IntRange(0, 2).Draw(t, "others") {
			switch rapid.IntRange(0, 5).Draw(t, "other") {
			case 0:
				add(believes(hold), 1)
			case 1:
				add(refused, lasts.Draw(t, "refused"))
			case 2:
				add(unanswered(lockStep{}), open)
			case 3:
				add(lapses, 1)
			case 4:
				add(recovers, 1)
			case 5:
				add(forgets, 1)
			}
		}
		switch rapid.IntRange(0, 2).Draw(t, "end") {
		case 0:
			add(released(hold), lasts.Draw(t, "released"))
		case 1:
			add(unanswered(released(hold)), open)
		case 2:
			add(ended(hold), open)
		}
	}
	return history
}

// TestLockModelOfManyUnansweredIsChecked gives the checker a history that has no order, and much
// that may have happened at any time.
func TestLockModelOfManyUnansweredIsChecked(t *testing.T) {
	t.Parallel()
	const open = 1000
	var history []porcupine.Operation
	for i := range 100 {
		s, call := unanswered(lockStep{}), int64(2*i)
		if i%2 == 0 {
			s = unanswered(released(i / 2))
			history = append(history, porcupine.Operation{
				ClientId: open + i, Input: granted(i/2, int64(i)).in, Call: call - 1, Return: call,
				Output: granted(i/2+1, int64(i+1)).out,
			})
		}
		history = append(history, porcupine.Operation{
			ClientId: i, Input: s.in, Call: call, Output: s.out, Return: open,
		})
	}
	history = append(history, porcupine.Operation{
		ClientId: open, Input: believes(1).in, Call: open - 2, Return: open - 1,
	})
	got := porcupine.CheckOperationsTimeout(model.Lock(), history, time.Minute)
	require.Equal(t, porcupine.Illegal, got)
}
