package processes

import (
	"context"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

// TestStoppedProcessHoldsSumsUp stops a process that counts, and lets it go on, and kills it.
func TestStoppedProcessHoldsSumsUp(t *testing.T) {
	play(t, map[string]scenario{"Counting": stopAndKillCounter})
}

func stopAndKillCounter(t *testing.T, a cells.Adapter, s *servers.Server) {
	t.Helper()
	adder, err := a.Primitives(t, cells.At(s.Addr()), nil).OpenLongAdder(t.Context(), t.Name())
	require.NoError(t, err)
	adder.Increment()
	child := cells.StartChild(t, os.Args[0], "TestCountingChild", s.Addr(), a.Name, t.Name())
	require.Equal(t, "counted", child.Next(t))
	awaitSum(t, 101, adder)

	child.Signal(t, syscall.SIGSTOP)
	missing := unanswered(t, adder)
	require.Equal(t, 2, missing.Asked)
	require.Less(t, missing.Answered, 2)

	child.Signal(t, syscall.SIGCONT)
	awaitSum(t, 101, adder)
	child.Kill(t)
	awaitSum(t, 1, adder)
}

// unanswered asks until somebody does not answer: a process that is being stopped may do so for a moment.
func unanswered(t *testing.T, adder *primitives.LongAdder) *primitives.UnansweredError {
	t.Helper()
	for {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		_, err := adder.Sum(ctx)
		cancel()
		if err != nil {
			require.ErrorIs(t, err, context.DeadlineExceeded)
			var missing *primitives.UnansweredError
			require.ErrorAs(t, err, &missing)
			return missing
		}
	}
}

// awaitSum waits until a sum is n. The server takes a dead process for alive for a moment.
func awaitSum(t *testing.T, n int64, adder *primitives.LongAdder) {
	t.Helper()
	require.Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), conformance.Patience/10)
		defer cancel()
		sum, err := adder.Sum(ctx)
		return err == nil && sum == n
	}, conformance.Patience, time.Millisecond)
}

// TestCountingChild is the child of other tests: it adds, says so, and answers who asks.
func TestCountingChild(t *testing.T) {
	args, _ := cells.AsChild(t)
	adder, err := cells.Named(args[1]).Primitives(t, cells.At(args[0]), nil).OpenLongAdder(t.Context(), args[2])
	require.NoError(t, err)
	adder.Add(100)
	cells.Say("counted")
	<-t.Context().Done()
}
