package permits

import (
	"time"

	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/conformance/lock"
	"github.com/hasp-go/hasp/conformance/must"
)

// asks returns what a script asks of each of its semaphores.
func asks(s *engine.Script) []In {
	switch s.Name {
	case "permit_acquire":
		owner := s.Args[0]
		n, of := int64(len(ids(owner))), lock.Whole(s.Args[2])
		return []In{{Op: lock.Acquire, Owner: owner, N: n, Lease: lock.Millis(s.Args[1]), Of: of}}
	case "permit_release":
		return []In{{Op: map[bool]Op{true: Return, false: lock.Release}[s.Args[1] == "1"], Owner: s.Args[0]}}
	case "permit_release_all":
		return lock.ForEach(s.Args[1:1+len(s.Keys)/2], func(owner string) In { return In{Op: lock.Release, Owner: owner} })
	case "permit_renew":
		lease := lock.Millis(s.Args[0])
		return lock.ForEach(s.Args[1:], func(owner string) In { return In{Op: lock.Renew, Owner: owner, Lease: lease} })
	case "permit_update":
		return []In{{Op: Update, Owner: s.Args[0], Lease: lock.Millis(s.Args[1])}}
	case "permit_remaining":
		return []In{{Op: lock.Remaining, Owner: s.Args[0]}}
	case "permit_count":
		return []In{{Op: Count}}
	case "permit_set":
		return []In{{Op: map[bool]Op{true: Set, false: Make}[s.Args[1] == "1"], N: lock.Whole(s.Args[0])}}
	case "permit_add":
		return []In{{Op: Add, N: lock.Whole(s.Args[0])}}
	case "object_delete":
		return []In{{Op: Delete}}
	}
	return nil
}

// answers returns what a script answers for each of its semaphores.
func answers(s *engine.Script) (outs []Out, err error) {
	switch {
	case engine.IsOverflow(s.Err):
		return []Out{{Overflow: true}}, nil
	case s.Err != nil:
		return nil, s.Err
	case s.Name == "permit_acquire":
		items := must.Get(s.Reply.Tuple(4))
		out := Out{Done: must.Get(items[0].Int()) == 1, Left: must.Get(items[1].Int())}
		if out.Next = must.Get(items[2].Duration(time.Millisecond)); out.Done {
			out.Owner = s.Args[0]
		}
		return []Out{out}, nil
	case s.Name == "permit_release_all", s.Name == "permit_renew":
		return lock.ForEach(lock.Statuses(s.Reply), func(o lock.Out) Out { return Out{Done: o.Done, Other: o.Other} }), nil
	case s.Name == "permit_count":
		items := must.Get(s.Reply.Tuple(2))
		return []Out{{N: must.Get(items[0].Int()), Taken: must.Get(items[1].Int())}}, nil
	}
	n, err := engine.Number(s)
	if s.Name == "permit_remaining" {
		return []Out{{Wait: time.Duration(n) * time.Millisecond}}, err
	}
	return []Out{{Done: n == 1}}, err
}
