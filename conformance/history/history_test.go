package history_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/history"
)

// register is a model of a number: "read" returns it, another input sets it.
func register() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return 0 },
		Step: func(state, input, output any) (bool, any) {
			if input == "read" {
				return output == state, state
			}
			return true, input
		},
	}
}

func TestCheckFollowsTheOrder(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		seen int
		ok   bool
	}{
		"New": {seen: 2, ok: true}, "Old": {seen: 1}, "Never": {seen: 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := history.New()
			writer, reader := log.Process(), log.Process()
			writer.Call(1).Return(nil)
			writer.Call(2).Return(nil)
			reader.Call("read").Return(c.seen)
			err := log.Check(register(), nil)
			if c.ok {
				require.NoError(t, err)
				return
			}
			var violation *history.Violation
			require.ErrorAs(t, err, &violation)
			require.ErrorContains(t, err, "the history of 3 operations")
			require.Regexp(t, "(?s)but not to all of.*read -> ", err.Error())
		})
	}
}

// TestUnknownTakesEffectAtAnyTime writes without an answer: it may count from then on, later, or
// never, but not before.
func TestUnknownTakesEffectAtAnyTime(t *testing.T) {
	t.Parallel()
	record := func(before int, after ...int) error {
		log := history.New()
		writer, reader := log.Process(), log.Process()
		reader.Call("read").Return(before)
		writer.Call(1).Unknown(nil)
		writer.Call("read").Return(0) // the process goes on
		for _, seen := range after {
			reader.Call("read").Return(seen)
		}
		return log.Check(register(), nil)
	}
	require.NoError(t, record(0))
	require.NoError(t, record(0, 0, 0))
	require.NoError(t, record(0, 0, 1))
	require.Error(t, record(1, 1))
	require.Error(t, record(0, 1, 0))
}

func TestSince(t *testing.T) {
	t.Parallel()
	log := history.New()
	p := log.Process()
	p.Call("read").Return(0)
	second := p.Call("read")
	second.Return(7)
	log.Since(second.Time(), 7, nil)
	require.NoError(t, log.Check(register(), nil))
	require.Equal(t, 3, log.Len())
}

func TestDroppedCallsDoNotCount(t *testing.T) {
	t.Parallel()
	log := history.New()
	p := log.Process()
	p.Call(1).Drop()
	p.Call("read").Return(0)
	require.NoError(t, log.Check(register(), nil))
	require.Equal(t, 1, log.Len())
}

func TestMalformedHistoriesAreRejected(t *testing.T) {
	t.Parallel()
	for name, record := range map[string]func(log *history.Log){
		"OverlappingCalls": func(log *history.Log) { p := log.Process(); p.Call(1); p.Call(2) },
		"TwoOutcomes":      func(log *history.Log) { c := log.Process().Call(1); c.Return(nil); c.Drop() },
		"UnknownTwice":     func(log *history.Log) { c := log.Process().Call(1); c.Unknown(1); c.Unknown(1) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Panics(t, func() { record(history.New()) })
		})
	}
	log := history.New()
	log.Process().Call(1)
	require.ErrorContains(t, log.Check(register(), nil), "1 of process 0 has no outcome")
}

// TestUndecidedIsAFailure gives the checker no time for a history that needs some.
func TestUndecidedIsAFailure(t *testing.T) {
	t.Parallel()
	log := history.New()
	for i := range 40 {
		log.Process().Call(i).Unknown(nil)
	}
	log.Process().Call("read").Return(-1)
	err := log.Check(register(), &history.CheckOptions{Patience: 10 * time.Millisecond})
	require.ErrorIs(t, err, history.ErrUndecided)
}

func TestPictureOfAViolation(t *testing.T) {
	t.Parallel()
	log := history.New()
	p := log.Process()
	p.Call(1).Unknown(nil)
	p.Call("read").Return(5)
	path := filepath.Join(t.TempDir(), "history.html")
	err := log.Check(register(), &history.CheckOptions{Picture: path})
	var violation *history.Violation
	require.ErrorAs(t, err, &violation)
	require.ErrorContains(t, err, "picture: "+path)
	page, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(page), "<html")
	require.Contains(t, string(page), "read")

	err = log.Check(register(), &history.CheckOptions{Picture: t.TempDir()})
	require.True(t, errors.As(err, &violation), "a picture that cannot be drawn hides no violation")
	require.Contains(t, err.Error(), "drawing")
}
