package model

import (
	"fmt"
	"slices"

	"github.com/anishathalye/porcupine"
)

// LockOp is what happens to a lock.
type LockOp int

// What happens to a lock.
const (
	// LockAcquire is Lock or TryLock: granted, refused, or without an answer. Then it may hold the
	// lock until it is given back.
	LockAcquire LockOp = iota
	// LockBelieve is a lease that reported, at some time within the call, that it is held.
	LockBelieve
	// LockRelease is an Unlock. If it returned nil, the lock was held until then.
	LockRelease
	// LockEnd is the end of a hold that nobody saw: its lease ran out.
	LockEnd
	// LockForget is the server losing the hold, which its holder may go on to believe in: the key
	// was deleted or forced.
	LockForget
	// LockLearn is a time by which the holder that a LockForget affected must know: one lease later.
	LockLearn
	// LockLapse begins a time in which the server may lose any hold, and what it had recorded of it,
	// and more than one server may grant, as while it restarts without data or fails over. Only
	// tokens rise.
	LockLapse
	// LockRecovery ends such a time. Of holds that were granted before, the server may have kept any
	// and forgotten any; what it grants from now on excludes again.
	LockRecovery
)

// LockInput is one thing that happens to a lock.
type LockInput struct {
	Op LockOp
	// Hold is the number of the hold that it is about, of LockBelieve, LockRelease and LockEnd. Each
	// grant has another one, above 0.
	Hold int
	// Forgetting is the number of a LockForget, above 0 if a LockLearn is about it.
	Forgetting int
}

// LockOutput is the answer to a LockAcquire, which is a refusal if Hold is 0, or a LockRelease.
type LockOutput struct {
	Hold    int
	Token   int64 // the fencing token
	Unknown bool  // there was no answer
}

// LockState is a lock at one time. The zero value is a lock that was never held.
type LockState struct {
	Holder int   // the hold that has it; 0 if it is free
	Token  int64 // of the last grant
	// Unsure says that an acquire without an answer may have it.
	Unsure bool
	// Forgotten are the holds that the server has lost, or since a lapse may have lost, and whose
	// holders may not know it.
	Forgotten []Forgotten
	// Lapse says that anything goes but the order of tokens; Doubt that it did, so that a release
	// of what seemed forgotten may succeed.
	Lapse, Doubt bool
}

// Forgotten is a hold that the server has lost, by the LockForget of that number; 0 if it has none,
// or if a lapse may have brought the hold back.
type Forgotten struct{ Hold, By int }

// Step returns the state after one thing has happened, and whether it can have happened in s.
func (s LockState) Step(in LockInput, out LockOutput) (LockState, bool) {
	switch in.Op {
	case LockAcquire:
		return s.acquire(out)
	case LockBelieve:
		return s, s.Holder == in.Hold || s.forgotten(in.Hold)
	case LockRelease, LockEnd:
		held := s.Holder == in.Hold
		if held {
			s.Holder = 0
		}
		return s, held || in.Op == LockEnd || out.Unknown ||
			s.Doubt && s.forgotten(in.Hold)
	case LockForget:
		return s.forget(in.Forgetting), true
	case LockLearn:
		s.Forgotten = slices.DeleteFunc(slices.Clone(s.Forgotten), func(f Forgotten) bool {
			return f.By == in.Forgetting
		})
		return s, true
	case LockLapse:
		return s.lapse(), true
	case LockRecovery:
		s.Lapse = false
		return s.forget(0), true
	}
	return s, false
}

// forget returns the state after the server has lost the hold.
func (s LockState) forget(by int) LockState {
	if s.Holder == 0 {
		return s
	}
	if s.Doubt {
		by = 0
	}
	s.Forgotten = append(slices.Clone(s.Forgotten), Forgotten{s.Holder, by})
	s.Holder = 0
	return s
}

func (s LockState) forgotten(hold int) bool {
	return slices.ContainsFunc(s.Forgotten, func(f Forgotten) bool { return f.Hold == hold })
}

func (s LockState) lapse() LockState {
	s.Lapse, s.Doubt, s.Unsure = true, true, true
	s.Forgotten = slices.Clone(s.Forgotten)
	for i := range s.Forgotten {
		s.Forgotten[i].By = 0
	}
	return s
}

func (s LockState) acquire(out LockOutput) (LockState, bool) {
	if out.Unknown {
		s.Unsure = true
		return s, true
	}
	if out.Hold == 0 {
		return s, s.Holder != 0 || s.Unsure
	}
	if s.Lapse {
		s = s.forget(0)
	}
	ok := s.Holder == 0 && out.Token > s.Token
	s.Holder, s.Token = out.Hold, out.Token
	return s, ok
}

// Equal reports whether two states are the same.
func (s LockState) Equal(other LockState) bool {
	return s.Holder == other.Holder && s.Token == other.Token && s.Unsure == other.Unsure &&
		s.Lapse == other.Lapse && s.Doubt == other.Doubt &&
		slices.Equal(s.Forgotten, other.Forgotten)
}

// String describes the state in a picture.
func (s LockState) String() string {
	text := "free"
	if s.Holder != 0 {
		text = fmt.Sprintf("hold %d", s.Holder)
	}
	if s.Unsure {
		text += " or an unanswered acquire"
	}
	if len(s.Forgotten) > 0 {
		text += fmt.Sprintf(", forgot %v", s.Forgotten)
	}
	if s.Lapse {
		text += ", in a lapse"
	}
	return fmt.Sprintf("%s, token %d", text, s.Token)
}

// describe returns the text of one operation in a picture.
func (in LockInput) describe(out LockOutput) string {
	switch in.Op {
	case LockAcquire:
		return "acquire: " + out.describe()
	case LockBelieve:
		return fmt.Sprintf("hold %d believes", in.Hold)
	case LockRelease:
		if out.Unknown {
			return fmt.Sprintf("release of hold %d: no answer", in.Hold)
		}
		return fmt.Sprintf("release of hold %d", in.Hold)
	case LockEnd:
		return fmt.Sprintf("end of hold %d", in.Hold)
	case LockForget:
		return "the server forgets"
	case LockLearn:
		return fmt.Sprintf("who was forgotten at %d must know", in.Forgetting)
	case LockLapse:
		return "the server may forget"
	case LockRecovery:
		return "the server keeps what it grants"
	}
	return fmt.Sprintf("operation %d", in.Op)
}

func (out LockOutput) describe() string {
	switch {
	case out.Unknown:
		return "no answer"
	case out.Hold == 0:
		return "refused"
	}
	return fmt.Sprintf("hold %d, token %d", out.Hold, out.Token)
}

// narrow returns a history that has an order if and only if the given one has, and is checked much
// faster: what may happen until the end can be tried at each step.
//
// An acquire without an answer only ever allows more, so that it may as well happen at once. A
// release without an answer, and an end, matter only before the next grant: they are over when one
// with a higher token has returned, which cannot come before the next.
func narrow(history []porcupine.Operation) []porcupine.Operation {
	tokens := map[int]int64{}
	var grants []porcupine.Operation // by their return
	for _, op := range history {
		if out, _ := op.Output.(LockOutput); op.Input.(LockInput).Op == LockAcquire && out.Hold != 0 {
			tokens[out.Hold] = out.Token
			grants = append(grants, op)
		}
	}
	slices.SortFunc(grants, func(a, b porcupine.Operation) int { return int(a.Return - b.Return) })
	narrowed := slices.Clone(history)
	for i := range narrowed {
		op := &narrowed[i]
		in := op.Input.(LockInput)
		out, _ := op.Output.(LockOutput)
		switch {
		case in.Op == LockAcquire && out.Unknown:
			op.Return = op.Call
		case in.Op == LockRelease && out.Unknown, in.Op == LockEnd:
			op.Return = nextGrant(grants, *op, tokens[in.Hold])
		}
	}
	return narrowed
}

// nextGrant returns when the first grant with a higher token has returned, or else when op has.
func nextGrant(grants []porcupine.Operation, op porcupine.Operation, token int64) int64 {
	for _, g := range grants {
		if g.Output.(LockOutput).Token > token {
			return min(op.Return, max(op.Call, g.Return))
		}
	}
	return op.Return
}

// Lock returns the model of one lock, for histories of [LockInput] and [LockOutput].
func Lock() porcupine.Model {
	return porcupine.Model{
		Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
			return [][]porcupine.Operation{narrow(history)}
		},
		Init: func() any { return LockState{} },
		Step: func(state, input, output any) (bool, any) {
			out, _ := output.(LockOutput) // not all that happens has one
			next, ok := state.(LockState).Step(input.(LockInput), out)
			return ok, next
		},
		Equal: func(a, b any) bool { return a.(LockState).Equal(b.(LockState)) },
		DescribeOperation: func(input, output any) string {
			out, _ := output.(LockOutput)
			return input.(LockInput).describe(out)
		},
		DescribeState: func(state any) string { return state.(LockState).String() },
	}
}
