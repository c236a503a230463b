package model

import (
	"fmt"
	"math"

	"github.com/anishathalye/porcupine"
)

// LongOp is what happens to an atomic long.
type LongOp int

// What happens to an atomic long. Without an answer it may have happened, or happen later, or never.
const (
	LongLoad           LongOp = iota
	LongStore                 // of A
	LongAdd                   // of A; the answer is the sum
	LongSwap                  // for A; the answer is what was
	LongLoadAndDelete         // the answer is what was
	LongCompareAndSwap        // of A for B
	LongStoreIfLess           // than A: B
	LongStoreIfGreater        // than A: B
)

// LongInput is one thing that happens to an atomic long.
type LongInput struct {
	Op   LongOp
	A, B int64
}

// LongOutput is the answer.
type LongOutput struct {
	Value    int64
	Done     bool // of the conditional ones
	Overflow bool // of LongAdd
	Unknown  bool // there was no answer
}

// LongState is the number. One that does not exist is 0.
type LongState int64

// Apply returns the state after in, and its answer.
func (s LongState) Apply(in LongInput) (LongState, LongOutput) {
	switch in.Op {
	case LongStore:
		return LongState(in.A), LongOutput{}
	case LongAdd:
		return s.add(in.A)
	case LongSwap:
		return LongState(in.A), LongOutput{Value: int64(s)}
	case LongLoadAndDelete:
		return 0, LongOutput{Value: int64(s)}
	case LongCompareAndSwap:
		return s.storeIf(int64(s) == in.A, in.B)
	case LongStoreIfLess:
		return s.storeIf(int64(s) < in.A, in.B)
	case LongStoreIfGreater:
		return s.storeIf(int64(s) > in.A, in.B)
	}
	return s, LongOutput{Value: int64(s)}
}

func (s LongState) add(delta int64) (LongState, LongOutput) {
	if delta > 0 && int64(s) > math.MaxInt64-delta || delta < 0 && int64(s) < math.MinInt64-delta {
		return s, LongOutput{Overflow: true}
	}
	s += LongState(delta)
	return s, LongOutput{Value: int64(s)}
}

func (s LongState) storeIf(ok bool, value int64) (LongState, LongOutput) {
	if ok {
		s = LongState(value)
	}
	return s, LongOutput{Done: ok}
}

// Step returns the state after one thing has happened, and whether it can have happened in s.
func (s LongState) Step(in LongInput, out LongOutput) (LongState, bool) {
	next, want := s.Apply(in)
	return next, out.Unknown || out == want
}

// Long returns the model of one atomic long, for histories of [LongInput] and [LongOutput].
func Long() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return LongState(0) },
		Step: func(state, input, output any) (bool, any) {
			next, ok := state.(LongState).Step(input.(LongInput), output.(LongOutput))
			return ok, next
		},
		DescribeOperation: func(input, output any) string {
			return fmt.Sprintf("%+v -> %+v", input, output)
		},
	}
}
