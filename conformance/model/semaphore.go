package model

import (
	"fmt"

	"github.com/anishathalye/porcupine"
)

// SemaphoreOp is what happens to a semaphore.
type SemaphoreOp int

// What happens to a semaphore.
const (
	SemaphoreAcquire   SemaphoreOp = iota // Acquire or TryAcquire: taken, or refused
	SemaphoreAdd                          // Release or AddPermits
	SemaphoreDrain                        // DrainPermits
	SemaphoreAvailable                    // AvailablePermits
)

// SemaphoreInput is one thing that happens to a semaphore.
type SemaphoreInput struct {
	Op SemaphoreOp
	N  int // how many permits an acquire wants, or are added
}

// SemaphoreOutput is the answer.
type SemaphoreOutput struct {
	Taken bool // of SemaphoreAcquire
	N     int  // of SemaphoreDrain and SemaphoreAvailable
	// Unknown says that there was no answer: from its call on it may happen at any time, or never.
	Unknown bool
	// Left says that the caller did not wait for the answer: what is taken may come back.
	Left bool
}

// SemaphoreState is a semaphore at one time: how many permits are free, and what is in doubt.
type SemaphoreState struct {
	Free int

	// Takes and Adds are the changes without an answer that may happen yet.
	Takes, Adds Bag
	// Loose are the takes whose callers have left. What they take comes back, as often as you like.
	Loose Bag
	// Out and OutDrained are what acquires and drains of Loose have taken, and may come back.
	Out, OutDrained Bag
}

// All stands in a [Bag] of takes for a drain.
const All = -1

// Step returns the state after one thing has happened, and whether it can have happened in s.
func (s SemaphoreState) Step(in SemaphoreInput, out SemaphoreOutput) (SemaphoreState, bool) {
	if out.Unknown {
		return s.doubt(in, out.Left), true
	}
	switch in.Op {
	case SemaphoreAcquire:
		enough := s.Free >= in.N
		if out.Taken {
			s.Free -= in.N
		}
		return s, enough == out.Taken
	case SemaphoreAdd:
		s.Free += in.N
		return s, true
	case SemaphoreDrain:
		all := max(s.Free, 0)
		s.Free -= all
		return s, out.N == all
	case SemaphoreAvailable:
		return s, out.N == s.Free
	}
	return s, false
}

// doubt returns the state in which in may happen.
func (s SemaphoreState) doubt(in SemaphoreInput, left bool) SemaphoreState {
	n := in.N
	if in.Op == SemaphoreDrain {
		n = All
	}
	switch {
	case in.Op == SemaphoreAdd:
		s.Adds = s.Adds.With(n)
	case in.Op == SemaphoreAvailable:
	case left:
		s.Loose = s.Loose.With(n)
	default:
		s.Takes = s.Takes.With(n)
	}
	return s
}

// Doubtful returns s and all states that it may have come to by what is in doubt.
func (s SemaphoreState) Doubtful() []SemaphoreState {
	all, seen := []SemaphoreState{s}, map[SemaphoreState]bool{s: true}
	for i := 0; i < len(all); i++ {
		for _, next := range all[i].unseen() {
			if !seen[next] {
				seen[next] = true
				all = append(all, next)
			}
		}
	}
	return all
}

// unseen returns the states that may come next without a message or a reply.
func (s SemaphoreState) unseen() (all []SemaphoreState) {
	for _, n := range s.Takes.Distinct() {
		if next, taken := s.take(n); taken > 0 {
			next.Takes = s.Takes.Without(n)
			all = append(all, next)
		}
	}
	for _, n := range s.Adds.Distinct() {
		next := s
		next.Free, next.Adds = s.Free+n, s.Adds.Without(n)
		all = append(all, next)
	}
	return append(append(all, s.leave()...), s.comeBack()...)
}

// leave returns what s becomes when a take of Loose takes something.
func (s SemaphoreState) leave() (all []SemaphoreState) {
	for _, n := range s.Loose.Distinct() {
		next, taken := s.take(n)
		if taken <= 0 {
			continue
		}
		next.Loose = s.Loose.Without(n)
		if n == All {
			next.OutDrained = s.OutDrained.With(taken)
		} else {
			next.Out = s.Out.With(taken)
		}
		all = append(all, next)
	}
	return all
}

// comeBack returns what s becomes when something of Out comes back.
func (s SemaphoreState) comeBack() (all []SemaphoreState) {
	for _, n := range s.Out.Distinct() {
		next := s
		next.Free, next.Out, next.Loose = s.Free+n, s.Out.Without(n), s.Loose.With(n)
		all = append(all, next)
	}
	for _, n := range s.OutDrained.Distinct() {
		next := s
		next.Free, next.OutDrained, next.Loose = s.Free+n, s.OutDrained.Without(n), s.Loose.With(All)
		all = append(all, next)
	}
	return all
}

// take returns the state after n permits were taken, and how many; 0: there are too few.
func (s SemaphoreState) take(n int) (SemaphoreState, int) {
	if n == All {
		n = s.Free
	}
	if s.Free < n {
		return s, 0
	}
	s.Free -= n
	return s, n
}

func (in SemaphoreInput) describe(out SemaphoreOutput) string {
	var text string
	switch in.Op {
	case SemaphoreAcquire:
		text = fmt.Sprintf("acquire %d: %t", in.N, out.Taken)
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
// of [SemaphoreInput] and [SemaphoreOutput]. A call without an answer is recorded like any other: the
// model itself keeps the possible outcomes, so that a few of them do not make the search for an
// order hopeless.
func Semaphore(free int) porcupine.Model {
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{SemaphoreState{Free: free}} },
		Step: func(state, input, output any) (next []any) {
			for _, s := range state.(SemaphoreState).Doubtful() {
				if s, ok := s.Step(input.(SemaphoreInput), output.(SemaphoreOutput)); ok {
					next = append(next, s)
				}
			}
			return next
		},
		DescribeOperation: func(input, output any) string {
			return input.(SemaphoreInput).describe(output.(SemaphoreOutput))
		},
		DescribeState: func(state any) string { return fmt.Sprintf("%+v", state) },
	}
	return m.ToModel()
}
