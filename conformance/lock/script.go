package lock

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/engine"
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

// Millis returns a time of so many milliseconds; 0 if text is no number.
func Millis(text string) time.Duration {
	n, _ := strconv.ParseInt(text, 10, 64)
	return time.Duration(n) * time.Millisecond
}

// Answers returns what a script answers for each of its locks.
func Answers(s *engine.Script) ([]Out, error) {
	if s.Err != nil {
		return nil, s.Err
	}
	var out Out
	var err error
	switch s.Name {
	case "lock_acquire":
		out, err = acquired(s)
	case "lock_renew", "lock_release_all", "spin_release_all":
		return statuses(s.Reply)
	case "lock_hold_count", "lock_last_token":
		if !s.Reply.IsNil() {
			var text string
			text, err = s.Reply.Text()
			out.Count, _ = strconv.ParseInt(text, 10, 64)
		}
	case "lock_remaining":
		out.Left, err = s.Reply.Duration(time.Millisecond)
	default:
		var n int64
		n, err = s.Reply.Int()
		out.Done = n > 0
	}
	return []Out{out}, err
}

// ownerForm is that of Redisson's owners: a UUID and a number.
var ownerForm = regexp.MustCompile(
	`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}:-?[0-9]+$`)

// acquired reads the answer to an acquire: a token, or how long the holder's lease still runs. Lock's script says
// both by one number, others by a token or nil, and a time.
func acquired(s *engine.Script) (out Out, err error) {
	number, left := s.Reply, backend.Reply{}
	if items, err := s.Reply.Tuple(2); err == nil {
		number, left = items[0], items[1]
	}
	if number.IsNil() {
		out.Left, err = left.Duration(time.Millisecond)
		return out, err
	}
	n, err := number.Int()
	if err != nil {
		return out, err
	}
	if n <= 0 {
		out.Left, err = backend.IntegerReply(-2 - n).Duration(time.Millisecond)
		return out, err
	}
	if out.Owner = s.Args[0]; !ownerForm.MatchString(out.Owner) {
		return out, fmt.Errorf("owner %q has not Redisson's form", out.Owner)
	}
	out.Token = n
	return out, nil
}

// statuses reads one status for each lock.
func statuses(reply backend.Reply) (outs []Out, err error) {
	items, err := reply.Items()
	for _, item := range items {
		n, intErr := item.Int()
		if n < -1 || n > 1 {
			intErr = fmt.Errorf("status %d", n)
		}
		outs, err = append(outs, Out{Done: n == 1, Other: n == -1}), errors.Join(err, intErr)
	}
	return outs, err
}
