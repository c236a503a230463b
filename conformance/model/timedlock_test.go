package model_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/model"
)

var start = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// after is a moment so many milliseconds after the start.
func after(ms int) model.Moment {
	return model.At(start.Add(time.Duration(ms) * time.Millisecond))
}

// around is a moment that is that uncertain.
func around(ms, guard int) model.Moment {
	return model.Moment{From: after(ms - guard).From, To: after(ms + guard).To}
}

func tokenAt(ms int) int64 { return after(ms).From.UnixMicro() }

const second = time.Second

// TestTimedLock follows a lock that "a" takes for a second at the start. The last step is possible
// or not.
func TestTimedLock(t *testing.T) {
	t.Parallel()
	take := func(ms int, owner string) func(l *model.TimedLock) error {
		return func(l *model.TimedLock) error {
			return l.Acquire(after(ms), owner, second, model.Acquired{Token: tokenAt(ms)})
		}
	}
	refuse := func(at model.Moment, wait time.Duration) func(l *model.TimedLock) error {
		return func(l *model.TimedLock) error {
			return l.Acquire(at, "b", second, model.Acquired{Kind: model.Held, Wait: wait})
		}
	}
	renew := func(at model.Moment, owner string, done bool) func(l *model.TimedLock) error {
		return func(l *model.TimedLock) error { return l.Renew(at, owner, second, done) }
	}
	release := func(ms int, owner string, done bool) func(l *model.TimedLock) error {
		return func(l *model.TimedLock) error { return l.Release(after(ms), owner, done) }
	}
	look := func(at model.Moment, kind model.Kind) func(l *model.TimedLock) error {
		return func(l *model.TimedLock) error { return l.Look(at, kind) }
	}
	rest := func(ms int, d time.Duration) func(l *model.TimedLock) error {
		return func(l *model.TimedLock) error { return l.Remaining(after(ms), d) }
	}
	other := func(l *model.TimedLock) error { l.PutOther(); return nil }
	forever := func(l *model.TimedLock) error { l.Put(after(1), "peer", 2, 0); return nil }
	steps := func(s ...func(l *model.TimedLock) error) []func(l *model.TimedLock) error { return s }
	for name, c := range map[string]struct {
		steps    []func(l *model.TimedLock) error
		possible bool
	}{
		"Refusal":            {steps(refuse(after(400), 600*time.Millisecond)), true},
		"RefusalWrongRest":   {steps(refuse(after(400), 500*time.Millisecond)), false},
		"RefusalRoundedDown": {steps(refuse(model.At(start.Add(1)), 999*time.Millisecond)), true},
		"RefusalAfterEnd":    {steps(refuse(after(1000), 0)), false},
		"RefusalNearEnd":     {steps(refuse(around(1000, 5), time.Millisecond)), true},
		"GrantWhileHeld":     {steps(take(999, "b")), false},
		"GrantAtTheEnd":      {steps(take(1000, "b")), true},
		"GrantNearTheEnd": {steps(look(around(1000, 5), model.Free), take(1001, "b"),
			look(after(1002), model.Held)), true},
		"SameToken": {steps(release(1, "a", true), func(l *model.TimedLock) error {
			return l.Acquire(after(2), "b", second, model.Acquired{Token: tokenAt(0)})
		}), false},
		"TokenAhead": {steps(release(1, "a", true), func(l *model.TimedLock) error {
			return l.Acquire(after(2), "b", second, model.Acquired{Token: tokenAt(3)})
		}), false},
		"TokenOfTheSameTime": {steps(release(0, "a", true), func(l *model.TimedLock) error {
			return l.Acquire(after(0), "b", second, model.Acquired{Token: tokenAt(0) + 1})
		}), true},
		"Renewal":          {steps(renew(after(500), "a", true), look(after(1400), model.Held)), true},
		"RenewalEnds":      {steps(renew(after(500), "a", true), look(after(1500), model.Free)), true},
		"RenewalOfAnother": {steps(renew(after(500), "b", true)), false},
		"RenewalRefused":   {steps(renew(after(500), "a", false)), false},
		"RenewalAfterEnd":  {steps(renew(after(1000), "a", false)), true},
		"Release":          {steps(release(1, "a", true), look(after(1), model.Free)), true},
		"ReleaseByAnother": {steps(release(1, "b", true)), false},
		"ReleaseOfNothing": {steps(release(1, "a", true), release(2, "a", false)), true},
		"ReleaseOfAnotherNearTheEnd": {steps(func(l *model.TimedLock) error {
			return l.Release(around(1000, 5), "b", false)
		}, look(after(998), model.Held)), true},
		"ReleaseMissed": {steps(release(1, "a", false)), false},
		"Remaining":     {steps(rest(250, 750*time.Millisecond)), true},
		"RemainingNothingIsOpen": {steps(func(l *model.TimedLock) error {
			return l.Remaining(around(1000, 5), 0)
		}, look(after(999), model.Held)), true},
		"RemainingOfFree":     {steps(rest(1000, 0)), true},
		"RemainingTooMuch":    {steps(rest(250, 751*time.Millisecond)), false},
		"RemainingForever":    {steps(rest(250, -1)), false},
		"OtherKind":           {steps(other, look(after(5000), model.Other)), true},
		"OtherKindIsNoLock":   {steps(other, renew(after(1), "a", true)), false},
		"PeerForever":         {steps(forever, look(after(9999), model.Held), rest(9999, -1)), true},
		"PeerCount":           {steps(forever, func(l *model.TimedLock) error { return l.HoldCount(after(2), "peer", 2) }), true},
		"PeerOtherCount":      {steps(forever, func(l *model.TimedLock) error { return l.HoldCount(after(2), "peer", 1) }), false},
		"PeerTookIt":          {steps(forever, renew(after(2), "a", false)), true},
		"ForceRelease":        {steps(func(l *model.TimedLock) error { return l.ForceRelease(after(1), true) }, look(after(1), model.Free)), true},
		"ForceReleaseMissed":  {steps(func(l *model.TimedLock) error { return l.ForceRelease(after(1), false) }), false},
		"ForceReleaseOfOther": {steps(other, func(l *model.TimedLock) error { return l.ForceRelease(after(1), true) }), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var l model.TimedLock
			require.NoError(t, take(0, "a")(&l))
			last := len(c.steps) - 1
			for _, step := range c.steps[:last] {
				require.NoError(t, step(&l))
			}
			require.Equal(t, c.possible, c.steps[last](&l) == nil)
		})
	}
}

func TestTimedLockTellsHowItWasFreed(t *testing.T) {
	t.Parallel()
	var l model.TimedLock
	l.Put(after(0), "a", 1, second)
	l.Pass(after(2000))
	require.Equal(t, after(1000), l.Freed)
	require.Equal(t, model.ByExpiry, l.By)
	l.Put(after(2000), "a", 1, second)
	l.Delete(after(2100), model.ByDeletion)
	require.Equal(t, model.ByDeletion, l.By)
	l.Put(after(2200), "a", 1, second)
	require.NoError(t, l.Release(after(2300), "a", true))
	require.Equal(t, after(2300), l.Freed)
	require.Equal(t, model.ByRelease, l.By)
}
