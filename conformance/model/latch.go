package model

import (
	"fmt"

	"github.com/anishathalye/porcupine"
)

// LatchOp is what happens to a count-down latch.
type LatchOp int

// What happens to a latch. Without an answer it may have happened, or happen later, or never.
const (
	LatchSet       LatchOp = iota // TrySetCount
	LatchCountDown                // CountDown
	LatchCount                    // Count
	LatchWait                     // a Wait that returned nil
	LatchDelete                   // Delete
)

// LatchInput is one thing that happens to a latch.
type LatchInput struct {
	Op LatchOp
	N  int64 // of LatchSet
}

// LatchOutput is the answer.
type LatchOutput struct {
	Done    bool  // of LatchSet and LatchDelete
	Left    int64 // of LatchCountDown and LatchCount
	Unknown bool  // there was no answer
}

// LatchState is the count; 0: the latch is not set.
type LatchState int64

// Step returns the state after one thing has happened, and whether it can have happened in s.
func (s LatchState) Step(in LatchInput, out LatchOutput) (LatchState, bool) {
	switch in.Op {
	case LatchSet:
		free := s == 0
		if free {
			s = LatchState(in.N)
		}
		return s, out.Unknown || out.Done == free
	case LatchCountDown:
		s = max(s-1, 0)
		return s, out.Unknown || out.Left == int64(s)
	case LatchCount:
		return s, out.Left == int64(s)
	case LatchWait:
		return s, s == 0
	case LatchDelete:
		return 0, out.Unknown || out.Done == (s > 0)
	}
	return s, false
}

func (in LatchInput) describe(out LatchOutput) string {
	var text string
	switch in.Op {
	case LatchSet:
		text = fmt.Sprintf("set to %d: %t", in.N, out.Done)
	case LatchCountDown:
		text = fmt.Sprintf("count down: %d left", out.Left)
	case LatchCount:
		text = fmt.Sprintf("count: %d", out.Left)
	case LatchWait:
		text = "waited"
	case LatchDelete:
		text = fmt.Sprintf("delete: %t", out.Done)
	}
	if out.Unknown {
		text += ", no answer"
	}
	return text
}

// Latch returns the model of one latch, for histories of [LatchInput] and [LatchOutput].
func Latch() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return LatchState(0) },
		Step: func(state, input, output any) (bool, any) {
			next, ok := state.(LatchState).Step(input.(LatchInput), output.(LatchOutput))
			return ok, next
		},
		DescribeOperation: func(input, output any) string {
			return input.(LatchInput).describe(output.(LatchOutput))
		},
	}
}
