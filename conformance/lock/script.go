package lock

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/conformance/must"
)

// Asks returns what a script asks of each of its locks. The scripts of all kinds of locks have the same names,
// behind that of the kind, and mostly the same arguments.
func Asks(s *engine.Script) []In {
	_, name, _ := strings.Cut(s.Name, "_")
	switch name {
	case "acquire", "revoke":
		return []In{{Op: Op(name), Owner: s.Args[0], Lease: Millis(append(s.Args, "")[1])}} // A reader's is revoked without.
	case "renew":
		return ForEach(s.Args[1:], func(owner string) In { return In{Op: Renew, Owner: owner, Lease: Millis(s.Args[0])} })
	case "release_all":
		owners := s.Args
		if s.Name != "spin_release_all" { // It does not publish: it has no command for that, and no channels.
			owners = s.Args[1 : 1+len(s.Args)/2]
		}
		return ForEach(owners, release)
	}
	op, one := single[name]
	switch {
	case !one:
		return nil
	case op == Release, op == IsHeldBy, op == HoldCount:
		return []In{{Op: op, Owner: s.Args[0]}}
	}
	return []In{{Op: op}}
}

// single are the scripts of one lock.
var single = map[string]Op{
	"release": Release, "force_release": Force, "exists": IsLocked, "held_by": IsHeldBy,
	"holder": IsLocked, "hold_count": HoldCount, "remaining": Remaining, "last_token": LastToken, "holders": Holds,
}

// ForEach returns of for each of all.
func ForEach[A, B any](all []A, of func(A) B) (result []B) {
	for _, a := range all {
		result = append(result, of(a))
	}
	return result
}

// Whole returns the number that a text is; 0 if it is none.
func Whole(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

// Millis returns the milliseconds that a text says; 0 if it is no number.
func Millis(text string) time.Duration { return time.Duration(Whole(text)) * time.Millisecond }

// Answers returns what a script answers for each of its locks.
func Answers(s *engine.Script) ([]Out, error) {
	if s.Err != nil {
		return nil, s.Err
	}
	var out Out
	switch _, name, _ := strings.Cut(s.Name, "_"); name {
	case "acquire":
		out = acquired(s)
	case "renew", "release_all":
		return Statuses(s.Reply), nil
	case "hold_count", "last_token":
		if !s.Reply.IsNil() {
			out.Count = Whole(must.Get(s.Reply.Text()))
		}
	case "holders":
		out.Count = must.Get(s.Reply.Int())
	case "remaining", "revoke":
		out.Left = must.Get(s.Reply.Duration(time.Millisecond))
		if out.Left == -2*time.Millisecond { // There is no key.
			out.Left = 0
		}
	default:
		out.Done = must.Get(s.Reply.Int()) > 0
	}
	return []Out{out}, nil
}

// ownerForm is the form of Redisson's owners, a UUID and a number, after a client's prefix, if it has one.
var ownerForm = regexp.MustCompile(
	`^(?:Pod_1\.a-b-)?[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}:-?[0-9]+$`)

// acquired reads the answer to an acquire: a token, or how long the holder's lease still runs. Lock's script says
// both by one number, others by a token or nil, and a time.
func acquired(s *engine.Script) (out Out) {
	number, left := s.Reply, backend.Reply{}
	if items, err := s.Reply.Items(); err == nil {
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
	must.Not(!ownerForm.MatchString(s.Args[0]), "owner %q has not Redisson's form", s.Args[0])
	return Out{Owner: s.Args[0], Token: n}
}

// Statuses reads one status for each lock. A list of statuses may have a second list behind it: the fields of the
// owners that hold the locks of status 3.
func Statuses(reply backend.Reply) (outs []Out) {
	statuses, others := must.Get(reply.Items()), []backend.Reply(nil)
	if len(statuses) == 2 && statuses[0].Kind() == backend.KindArray {
		statuses, others = must.Get(statuses[0].Items()), must.Get(statuses[1].Items())
	}
	for _, item := range statuses {
		n := must.Get(item.Int())
		out := Out{Done: n == 1, Other: n == -1}
		if n == 3 {
			out.Owner, others = strings.TrimSuffix(must.Get(others[0].Text()), ":write"), others[1:]
		}
		must.Not(n < -1 || n > 1 && out.Owner == "", "status %d", n)
		outs = append(outs, out)
	}
	return outs
}
