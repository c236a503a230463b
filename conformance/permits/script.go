package permits

import (
	"strconv"
	"time"

	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/conformance/lock"
)

// asks returns what a script asks of each of its semaphores.
func asks(s *engine.Script) []In {
	switch s.Name {
	case "permit_acquire":
		owner := s.Args[0]
		return []In{{
			Op: Acquire, Owner: owner, N: int64(len(ids(owner))), Lease: lock.Millis(s.Args[1]), Of: number(s.Args[2]),
		}}
	case "permit_release":
		return []In{{Op: either(s.Args[1] == "1", Return, Release), Owner: s.Args[0]}}
	case "permit_release_all":
		return each(s.Args[1:1+len(s.Keys)/2], In{Op: Release})
	case "permit_renew":
		return each(s.Args[1:], In{Op: Renew, Lease: lock.Millis(s.Args[0])})
	case "permit_update":
		return []In{{Op: Update, Owner: s.Args[0], Lease: lock.Millis(s.Args[1])}}
	case "permit_remaining":
		return []In{{Op: Remaining, Owner: s.Args[0]}}
	case "permit_count":
		return []In{{Op: Count}}
	case "permit_set":
		return []In{{Op: either(s.Args[1] == "1", Set, Make), N: number(s.Args[0])}}
	case "permit_add":
		return []In{{Op: Add, N: number(s.Args[0])}}
	case "object_delete":
		return []In{{Op: Delete}}
	}
	return nil
}

func either(is bool, yes, no Op) Op {
	if is {
		return yes
	}
	return no
}

// each returns what is asked for each owner.
func each(owners []string, in In) (ins []In) {
	for _, in.Owner = range owners {
		ins = append(ins, in)
	}
	return ins
}

// number returns that of a text; 0: it is none.
func number(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

// answers returns what a script answers for each of its semaphores.
func answers(s *engine.Script) ([]Out, error) {
	switch {
	case engine.IsOverflow(s.Err):
		return []Out{{Overflow: true}}, nil
	case s.Err != nil:
		return nil, s.Err
	case s.Name == "permit_acquire":
		return acquired(s)
	case s.Name == "permit_release_all", s.Name == "permit_renew":
		return statuses(s)
	case s.Name == "permit_count":
		items, err := s.Reply.Tuple(2)
		if err != nil {
			return nil, err
		}
		free, err := items[0].Int()
		taken, _ := items[1].Int()
		return []Out{{N: free, Taken: taken}}, err
	}
	n, err := engine.Number(s)
	if s.Name == "permit_remaining" {
		return []Out{{Wait: time.Duration(n) * time.Millisecond}}, err
	}
	return []Out{{Done: n == 1}}, err
}

func acquired(s *engine.Script) ([]Out, error) {
	items, err := s.Reply.Tuple(3)
	if err != nil {
		return nil, err
	}
	taken, err := items[0].Int()
	left, _ := items[1].Int()
	wait, _ := items[2].Duration(time.Millisecond)
	out := Out{Done: taken == 1, Left: left, Wait: wait}
	if out.Done {
		out.Owner = s.Args[0]
	}
	return []Out{out}, err
}

func statuses(s *engine.Script) (outs []Out, err error) {
	items, err := s.Reply.Items()
	for _, item := range items {
		n, _ := item.Int()
		outs = append(outs, Out{Done: n == 1, Other: n < 0})
	}
	return outs, err
}
