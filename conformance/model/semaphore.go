package model

import (
	"fmt"
	"slices"

	"github.com/anishathalye/porcupine"
)

// SemaphoreOp is what happens to a semaphore.
type SemaphoreOp int

// What happens to a semaphore.
const (
	// SemaphoreAcquire is Acquire or TryAcquire: taken, refused, or without an answer. Then it may
	// take the permits at any time, or none.
	SemaphoreAcquire SemaphoreOp = iota
	// SemaphoreReturn is what an acquire without an answer took coming back, if it took anything.
	SemaphoreReturn
	// SemaphoreAdd is Release or AddPermits. Without an answer it may add at any time, or never.
	SemaphoreAdd
	// SemaphoreDrain is DrainPermits. Without an answer it may take all at any time, or never.
	SemaphoreDrain
	// SemaphoreAvailable is AvailablePermits.
	SemaphoreAvailable
)

// SemaphoreInput is one thing that happens to a semaphore.
type SemaphoreInput struct {
	Op SemaphoreOp
	// N is how many permits an acquire wants, or are added.
	N int
	// Stray is the number, above 0, of an acquire without an answer, for it and its return.
	Stray int
}

// SemaphoreOutput is the answer.
type SemaphoreOutput struct {
	Taken   bool // of SemaphoreAcquire
	N       int  // of SemaphoreDrain and SemaphoreAvailable
	Unknown bool // there was no answer
}

// SemaphoreState is a semaphore at one time.
type SemaphoreState struct {
	Free int
	// Strays are the acquires without an answer that have taken their permits, in order.
	Strays []int
}

// Step returns the state after one thing has happened, and whether it can have happened in s.
func (s SemaphoreState) Step(in SemaphoreInput, out SemaphoreOutput) (SemaphoreState, bool) {
	switch in.Op {
	case SemaphoreAcquire:
		return s.acquire(in, out)
	case SemaphoreReturn:
		i, took := slices.BinarySearch(s.Strays, in.Stray)
		if took {
			s.Strays = slices.Delete(slices.Clone(s.Strays), i, i+1)
			s.Free += in.N
		}
		return s, true
	case SemaphoreAdd:
		s.Free += in.N
		return s, true
	case SemaphoreDrain:
		ok := out.Unknown || out.N == max(s.Free, 0)
		s.Free = min(s.Free, 0)
		return s, ok
	case SemaphoreAvailable:
		return s, out.N == s.Free
	}
	return s, false
}

func (s SemaphoreState) acquire(in SemaphoreInput, out SemaphoreOutput) (SemaphoreState, bool) {
	enough := s.Free >= in.N
	switch {
	case out.Unknown && enough:
		i, _ := slices.BinarySearch(s.Strays, in.Stray)
		s.Strays = slices.Insert(slices.Clone(s.Strays), i, in.Stray)
	case out.Unknown:
		return s, true
	case !out.Taken:
		return s, !enough
	}
	s.Free -= in.N
	return s, enough
}

// Equal reports whether two states are the same.
func (s SemaphoreState) Equal(other SemaphoreState) bool {
	return s.Free == other.Free && slices.Equal(s.Strays, other.Strays)
}

// String describes the state in a picture.
func (s SemaphoreState) String() string {
	if len(s.Strays) == 0 {
		return fmt.Sprintf("%d free", s.Free)
	}
	return fmt.Sprintf("%d free, taken without an answer by %v", s.Free, s.Strays)
}

func (in SemaphoreInput) describe(out SemaphoreOutput) string {
	var text string
	switch in.Op {
	case SemaphoreAcquire:
		text = fmt.Sprintf("acquire %d: %t", in.N, out.Taken)
	case SemaphoreReturn:
		return fmt.Sprintf("return of %d by %d", in.N, in.Stray)
	case SemaphoreAdd:
		text = fmt.Sprintf("add %d", in.N)
	case SemaphoreDrain:
		text = fmt.Sprintf("drain: %d", out.N)
	case SemaphoreAvailable:
		text = fmt.Sprintf("available: %d", out.N)
	}
	if out.Unknown {
		text += ", no answer"
	}
	return text
}

// Semaphore returns the model of one semaphore that has so many free permits at first, for histories
// of [SemaphoreInput] and [SemaphoreOutput].
func Semaphore(free int) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return SemaphoreState{Free: free} },
		Step: func(state, input, output any) (bool, any) {
			out, _ := output.(SemaphoreOutput) // not all that happens has one
			next, ok := state.(SemaphoreState).Step(input.(SemaphoreInput), out)
			return ok, next
		},
		Equal: func(a, b any) bool { return a.(SemaphoreState).Equal(b.(SemaphoreState)) },
		DescribeOperation: func(input, output any) string {
			out, _ := output.(SemaphoreOutput)
			return input.(SemaphoreInput).describe(out)
		},
		DescribeState: func(state any) string { return state.(SemaphoreState).String() },
	}
}
