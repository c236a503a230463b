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
	// SemaphoreReturn is what an acquire or a drain without an answer took coming back, if it took
	// anything.
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
	// Stray is the number, above 0, of an acquire or a drain without an answer, for it and its
	// return.
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
	// Strays are what has been taken without an answer, in the order of their numbers.
	Strays []Stray
}

// Stray is what was taken without an answer.
type Stray struct{ Number, Permits int }

// Step returns the state after one thing has happened, and whether it can have happened in s.
func (s SemaphoreState) Step(in SemaphoreInput, out SemaphoreOutput) (SemaphoreState, bool) {
	switch in.Op {
	case SemaphoreAcquire:
		return s.acquire(in, out)
	case SemaphoreReturn:
		return s.giveBack(in.Stray), true
	case SemaphoreAdd:
		s.Free += in.N
		return s, true
	case SemaphoreDrain:
		if out.Unknown {
			return s.stray(in.Stray, max(s.Free, 0)), true
		}
		all := max(s.Free, 0)
		s.Free -= all
		return s, out.N == all
	case SemaphoreAvailable:
		return s, out.N == s.Free
	}
	return s, false
}

func (s SemaphoreState) acquire(in SemaphoreInput, out SemaphoreOutput) (SemaphoreState, bool) {
	enough := s.Free >= in.N
	switch {
	case out.Unknown && enough:
		return s.stray(in.Stray, in.N), true
	case out.Unknown:
		return s, true
	case !out.Taken:
		return s, !enough
	}
	s.Free -= in.N
	return s, enough
}

// stray returns the state after n permits were taken without an answer.
func (s SemaphoreState) stray(number, n int) SemaphoreState {
	i, _ := s.find(number)
	s.Strays = slices.Insert(slices.Clone(s.Strays), i, Stray{number, n})
	s.Free -= n
	return s
}

// giveBack returns the state after what was taken without an answer has come back.
func (s SemaphoreState) giveBack(number int) SemaphoreState {
	if i, took := s.find(number); took {
		s.Free += s.Strays[i].Permits
		s.Strays = slices.Delete(slices.Clone(s.Strays), i, i+1)
	}
	return s
}

func (s SemaphoreState) find(number int) (int, bool) {
	return slices.BinarySearchFunc(s.Strays, number, func(s Stray, number int) int {
		return s.Number - number
	})
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
		return fmt.Sprintf("return of what %d took", in.Stray)
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
