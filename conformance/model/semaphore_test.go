package model_test

import (
	"slices"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/model"
)

// TestSemaphoreUnknownOutcomes: what has no answer explains what is seen later, at any time, and only
// what it can.
func TestSemaphoreUnknownOutcomes(t *testing.T) {
	t.Parallel()
	acquire := func(n int) model.SemaphoreInput { return model.SemaphoreInput{Op: model.SemaphoreAcquire, N: n} }
	available := model.SemaphoreInput{Op: model.SemaphoreAvailable}
	drain := model.SemaphoreInput{Op: model.SemaphoreDrain}
	add := model.SemaphoreInput{Op: model.SemaphoreAdd, N: 3}
	unknown := model.SemaphoreOutput{Unknown: true}
	left := model.SemaphoreOutput{Unknown: true, Left: true}
	for name, c := range map[string]struct {
		in   model.SemaphoreInput
		out  model.SemaphoreOutput
		seen []int // available after one another, of 5
		good bool
	}{
		"Never":             {acquire(2), unknown, []int{5, 5}, true},
		"Later":             {acquire(2), unknown, []int{5, 3, 3}, true},
		"Twice":             {acquire(2), unknown, []int{3, 1}, false},
		"ComesNotBack":      {acquire(2), unknown, []int{3, 5}, false},
		"ComesBack":         {acquire(2), left, []int{3, 5}, true},
		"ComesBackOnce":     {acquire(2), left, []int{3, 5, 7}, false},
		"TooMany":           {acquire(6), unknown, []int{-1}, false},
		"AddLater":          {add, unknown, []int{5, 8, 8}, true},
		"AddTwice":          {add, unknown, []int{8, 11}, false},
		"DrainLater":        {drain, unknown, []int{5, 0, 0}, true},
		"DrainPart":         {drain, unknown, []int{2}, false},
		"DrainComesBack":    {drain, left, []int{5, 0, 5}, true},
		"DrainComesNotBack": {drain, unknown, []int{0, 5}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			history := []porcupine.Operation{{Input: c.in, Output: c.out, Call: 0, Return: 1}}
			for i, n := range c.seen {
				at := int64(2 * (i + 1))
				history = append(history, porcupine.Operation{
					Input: available, Output: model.SemaphoreOutput{N: n}, Call: at, Return: at + 1,
				})
			}
			require.Equal(t, c.good, porcupine.CheckOperations(model.Semaphore(5), history))
		})
	}
}

// TestSemaphoreManyUnknownOutcomes: a few dozen of them do not make the search hopeless.
func TestSemaphoreManyUnknownOutcomes(t *testing.T) {
	t.Parallel()
	var history []porcupine.Operation
	at := int64(0)
	do := func(in model.SemaphoreInput, out model.SemaphoreOutput) {
		history = append(history, porcupine.Operation{Input: in, Output: out, Call: at, Return: at + 1})
		at += 2
	}
	for i := range 40 {
		n := 1 + i%4
		do(model.SemaphoreInput{Op: model.SemaphoreAcquire, N: n},
			model.SemaphoreOutput{Unknown: true, Left: i%2 == 0})
		do(model.SemaphoreInput{Op: model.SemaphoreAvailable}, model.SemaphoreOutput{N: 4 - i/20})
	}
	require.True(t, porcupine.CheckOperations(model.Semaphore(4), history))
	do(model.SemaphoreInput{Op: model.SemaphoreAvailable}, model.SemaphoreOutput{N: 5})
	require.False(t, porcupine.CheckOperations(model.Semaphore(4), slices.Clone(history)))
}
