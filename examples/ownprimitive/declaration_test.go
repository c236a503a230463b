package barrier_test

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/engine"
	barrier "github.com/hasp-go/hasp/examples/ownprimitive"
	"github.com/hasp-go/hasp/primitives"
	"github.com/hasp-go/hasp/primitives/extend"
)

// declared is all that the suite has to know of the barrier. From it the suite derives tests of what
// the scripts do, store and publish, of the members' leases, of waiting, and of what Await returns:
// suite_test.go runs them. The model is in model_test.go.
//
// Not derived are cases of leases that a caller gets, cases with calls that wait and must not free each
// other, and faults of servers. Histories compare the number of calls that have passed with the last
// generation, but do not see whether the members of a generation waited at the same time: an order of
// calls cannot say that.
var declared = &engine.Primitive[state, input, output]{
	Name:     "Barrier",
	Limit:    "Barrier.Generation",
	Promises: map[string]string{"Barrier.Generation": "As many pass together as there are parties, or none."},
	Some:     engine.New(state{Generation: 1}),
	NoTexts:  []string{"text"},
	Step:     step,
	Ages:     ages,
	Verb: func(in input) string {
		if in.What == looks {
			return arrives // They are parts of the same call.
		}
		return in.What
	},
	Asks:    asks,
	Answers: answers,
	Granted: func(out output) bool { return out.Member != "" },
	Stored:  stored,
	Channel: func(_ backend.Capabilities, key string) string { return extend.SideName("barrier", key) },
	Published: func(before, after object, _ input) string {
		if before.V.generation() == after.V.generation() {
			return ""
		}
		return fmt.Sprint(before.V.generation())
	},
	Ops: []engine.Op[state, input, output]{
		{Name: "Await", Weight: 5, Generate: drawAwait, Call: await, Waits: true, Refuses: []input{{Parties: -1}}},
		{Name: "Waiting", Weight: 1, Generate: drawWaiting, Call: waiting, ExcludeFromHistory: true},
	},
	Ready:  func(s object, in input) bool { return in.What == passes && s.V.generation() > in.Generation },
	Blocks: func(object) (in input, ok bool) { return in, false }, // It always has to be waited for.
	Frees:  func(s object) (input, bool) { return input{What: arrives, Parties: 2}, len(running(s)) > 0 },
	Peer:   peer,
	Hold: &engine.Hold[state, input, output]{
		Of:      holdOf,
		Fixed:   func(input) time.Duration { return 0 },
		Holders: running,
		Grant:   func(out output) (string, int64, bool) { return out.Member, out.Generation, out.Member != "" },
		Awaits:  func(out output) input { return input{What: passes, Generation: out.Generation} },
		Release: func(owner string) input { return input{What: leaves, Member: owner} },
		Done:    func(out output) bool { return out.Done },
	},
}

// input is one thing that happens to a barrier, or that a call waits for.
type input struct {
	What       string
	Member     string
	Parties    int
	Lease      time.Duration
	Generation int64 // that passes
}

// What happens to a barrier.
const (
	arrives = "arrives"
	looks   = "looks"
	counts  = "counts"
	renews  = "renews"
	leaves  = "leaves"
	passes  = "passes" // what a call waits for
)

// output is the answer.
type output struct {
	Member     string // that has arrived
	Generation int64  // of arrives: 0 if it was the last
	N          int64  // of counts
	Done       bool   // of renews and leaves
	Other      bool   // the key is no barrier
}

// drawAwait draws a barrier for two or three, by what all users of a name must agree about. The server
// has an answer anyway, and the model too: the parties are those of the last arrival.
func drawAwait(d engine.Params[state]) input { return input{What: arrives, Parties: 2 + d.Which%2} }

func drawWaiting(engine.Params[state]) input { return input{What: counts} }

func await(ctx context.Context, c *primitives.Client, name string, in input) (output, error) {
	return output{}, barrier.New(c, name, in.Parties).Await(ctx)
}

func waiting(ctx context.Context, c *primitives.Client, name string, _ input) (output, error) {
	n, err := barrier.New(c, name, 2).Waiting(ctx)
	return output{N: int64(n)}, err
}

func holdOf(in input) (engine.HoldAct, string, time.Duration) {
	act := map[string]engine.HoldAct{
		arrives: engine.Asks, renews: engine.Renews, leaves: engine.Releases,
	}[in.What]
	return act, in.Member, in.Lease
}

// asks returns what a script asks of each of its barriers.
func asks(s *engine.Script) (ins []input) {
	switch s.Name {
	case "arrive":
		parties, _ := strconv.Atoi(s.Args[1])
		return []input{{What: arrives, Member: s.Args[0], Parties: parties, Lease: millis(s.Args[2])}}
	case "generation":
		return []input{{What: looks}}
	case "waiting":
		return []input{{What: counts}}
	case "leave", "leave_all":
		for _, member := range s.Args {
			ins = append(ins, input{What: leaves, Member: member})
		}
	case "renew":
		for _, member := range s.Args[1:] {
			ins = append(ins, input{What: renews, Member: member, Lease: millis(s.Args[0])})
		}
	}
	return ins
}

func millis(text string) time.Duration {
	n, _ := strconv.ParseInt(text, 10, 64)
	return time.Duration(n) * time.Millisecond
}

// answers returns what a script answers for each of its barriers.
func answers(s *engine.Script) ([]output, error) {
	if s.Err != nil {
		return nil, s.Err
	}
	if s.Name == "leave_all" || s.Name == "renew" || s.Name == "leave" {
		return statuses(s)
	}
	n, err := engine.Number(s)
	switch s.Name {
	case "arrive":
		return []output{{Member: s.Args[0], Generation: n}}, err
	case "waiting":
		return []output{{N: n}}, err
	}
	return []output{{Generation: n}}, err
}

// statuses reads 1 for done and -1 for a key that is no barrier. Of leave the second number is the
// generation.
func statuses(s *engine.Script) (outs []output, err error) {
	items, err := s.Reply.Items()
	if err != nil {
		return nil, err
	}
	for _, item := range items {
		text, _ := item.Text()
		n, err := item.Int()
		if err != nil {
			n, err = strconv.ParseInt(text, 10, 64)
		}
		if err != nil {
			return nil, err
		}
		outs = append(outs, output{Done: n == 1, Other: n == -1, Generation: n})
	}
	if s.Name == "leave" {
		outs[0].Generation = outs[1].Generation
		return outs[:1], nil
	}
	return outs, nil
}
