package lock

import (
	"regexp"
	"strconv"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/conformance/must"
)

// Asks returns what a script asks of each of its locks.
func Asks(s *engine.Script) (ins []In) {
	switch s.Name {
	case "lock_acquire":
		return []In{{Op: Acquire, Owner: s.Args[0], Lease: Millis(s.Args[1])}}
	case "lock_release", "spin_release":
		return []In{{Op: Release, Owner: s.Args[0]}}
	case "lock_force_release", "object_delete":
		return []In{{Op: Force}}
	case "lock_exists":
		return []In{{Op: IsLocked}}
	case "lock_held_by":
		return []In{{Op: IsHeldBy, Owner: s.Args[0]}}
	case "lock_hold_count":
		return []In{{Op: HoldCount, Owner: s.Args[0]}}
	case "lock_remaining":
		return []In{{Op: Remaining}}
	case "lock_last_token":
		return []In{{Op: LastToken}}
	case "lock_renew":
		for _, owner := range s.Args[1:] {
			ins = append(ins, In{Op: Renew, Owner: owner, Lease: Millis(s.Args[0])})
		}
	case "lock_release_all":
		for _, owner := range s.Args[1 : 1+len(s.Keys)] {
			ins = append(ins, In{Op: Release, Owner: owner})
		}
	case "spin_release_all":
		for _, owner := range s.Args {
			ins = append(ins, In{Op: Release, Owner: owner})
		}
	}
	return ins
}

// Whole returns the number that a text is; 0 if it is none.
func Whole(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

// Millis returns a time of so many milliseconds; 0 if text is no number.
func Millis(text string) time.Duration { return time.Duration(Whole(text)) * time.Millisecond }

// Answers returns what a script answers for each of its locks.
func Answers(s *engine.Script) ([]Out, error) {
	if s.Err != nil {
		return nil, s.Err
	}
	var out Out
	switch s.Name {
	case "lock_acquire":
		out = acquired(s)
	case "lock_renew", "lock_release_all", "spin_release_all":
		return Statuses(s.Reply), nil
	case "lock_hold_count", "lock_last_token":
		if !s.Reply.IsNil() {
			out.Count = Whole(must.Get(s.Reply.Text()))
		}
	case "lock_remaining":
		out.Left = must.Get(s.Reply.Duration(time.Millisecond))
	default:
		out.Done = must.Get(s.Reply.Int()) > 0
	}
	return []Out{out}, nil
}

// ownerForm is that of Redisson's owners: a UUID and a number.
var ownerForm = regexp.MustCompile(
	`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}:-?[0-9]+$`)

// acquired reads the answer to an acquire: a token, or how long the holder's lease still runs. Lock's script says
// both by one number, others by a token or nil, and a time.
func acquired(s *engine.Script) (out Out) {
	number, left := s.Reply, backend.Reply{}
	if items, err := s.Reply.Tuple(2); err == nil {
		number, left = items[0], items[1]
	}
	if number.IsNil() {
		out.Left = must.Get(left.Duration(time.Millisecond))
		return out
	}
	n := must.Get(number.Int())
	if n <= 0 {
		out.Left = must.Get(backend.IntegerReply(-2 - n).Duration(time.Millisecond))
		return out
	}
	must.If(!ownerForm.MatchString(s.Args[0]), "owner %q has not Redisson's form", s.Args[0])
	return Out{Owner: s.Args[0], Token: n}
}

// Statuses reads one status for each lock.
func Statuses(reply backend.Reply) (outs []Out) {
	for _, item := range must.Get(reply.Items()) {
		n := must.Get(item.Int())
		must.If(n < -1 || n > 1, "status %d", n)
		outs = append(outs, Out{Done: n == 1, Other: n == -1})
	}
	return outs
}
