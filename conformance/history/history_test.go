package history_test

import (
	"fmt"
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

// TestCheck: what was dropped has no effect, what returned has its effect in between, and what is unknown may have it
// at any time from its call on, or never.
func TestCheck(t *testing.T) {
	t.Parallel()
	order := func(seen int) func(log *history.Log) {
		return func(log *history.Log) {
			writer, reader := log.Process(), log.Process()
			writer.Call(1).Return(nil)
			writer.Call(2).Return(nil)
			reader.Call("read").Return(seen)
		}
	}
	unknown := func(before int, after ...int) func(log *history.Log) {
		return func(log *history.Log) {
			writer, reader := log.Process(), log.Process()
			reader.Call("read").Return(before)
			writer.Call(1).Unknown(nil)
			writer.Call("read").Return(0) // the process goes on
			for _, seen := range after {
				reader.Call("read").Return(seen)
			}
		}
	}
	for name, c := range map[string]struct {
		record func(log *history.Log)
		len    int
		ok     bool
	}{
		"New": {order(2), 3, true}, "Old": {order(1), 3, false}, "Never": {order(3), 3, false},
		"Unknown": {unknown(0), 3, true}, "NeverSeen": {unknown(0, 0, 0), 5, true}, "SeenLater": {unknown(0, 0, 1), 5, true},
		"SeenBefore": {unknown(1, 1), 4, false}, "SeenAndGone": {unknown(0, 1, 0), 5, false},
		"Dropped": {func(log *history.Log) {
			p := log.Process()
			p.Call(1).Drop()
			p.Call("read").Return(0)
		}, 1, true},
		"Since": {func(log *history.Log) {
			p := log.Process()
			p.Call("read").Return(0)
			second := p.Call("read")
			second.Return(7)
			log.Since(second.Time(), 7, nil)
		}, 3, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := history.New()
			c.record(log)
			require.Equal(t, c.len, log.Len())
			err := log.Check(register(), 0)
			if c.ok {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, history.ErrViolation)
			require.ErrorContains(t, err, fmt.Sprintf("the history of %d operations", c.len))
			require.Regexp(t, "(?s)but not to all of.*read -> ", err.Error())
		})
	}
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
	require.ErrorContains(t, log.Check(register(), 0), "1 of process 0 has no outcome")
}

// TestUndecidedIsAFailure gives the checker no time for a history that needs some.
func TestUndecidedIsAFailure(t *testing.T) {
	t.Parallel()
	log := history.New()
	for i := range 40 {
		log.Process().Call(i).Unknown(nil)
	}
	log.Process().Call("read").Return(-1)
	err := log.Check(register(), 10*time.Millisecond)
	require.ErrorIs(t, err, history.ErrUndecided)
}
