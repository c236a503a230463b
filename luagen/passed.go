package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/hasp-go/hasp/luagen/internal/check"
	"github.com/hasp-go/hasp/luagen/internal/check/flow"
	"github.com/hasp-go/hasp/luagen/internal/draft"
	"github.com/hasp-go/hasp/luagen/internal/golua"
	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// handed is a script with the calls that pass it keys and arguments.
type handed struct {
	*job
	*flow.Machine
	s     *golua.Script
	facts draft.Facts
}

// passed finds what does not fit a script in the calls that pass it keys and arguments.
func (j *job) passed(s *golua.Script, script *parse.Script) {
	if len(s.Calls) == 0 || script.Body == nil {
		return
	}
	m := flow.NewCode(script, j.tables).Machine()
	h := &handed{j, m, s, draft.Learn(m)}
	for _, call := range s.Calls {
		for i, arg := range call.Args {
			h.argument(i+1, len(call.Args), arg)
		}
		if call.Unloaded {
			j.note([]string{call.At.String() + ": after a restart this fails with NOSCRIPT: call Run, or Eval then"})
		}
	}
	h.missing()
}

// argument finds an argument that the script takes for something else, or the client refuses.
func (h *handed) argument(n, of int, arg golua.Passed) {
	switch is := h.facts.Types[n]; {
	case arg.As == "nanoseconds" && (flow.Units[is].Per > 0 || is == "number" && !nanoseconds.Match(h.s.Text)):
		h.findAt(arg.At, check.Time, "a time.Duration arrives in nanoseconds: write .Milliseconds(), or so many seconds")
	case arg.As == "float64" && flow.Units[is].Per > 0:
		h.findAt(arg.At, check.Expire, "this may have a fraction, for which an expiry fails: write .Milliseconds(), or math.Ceil")
	case arg.As == "list" && of > 1:
		h.findAt(arg.At, check.Command, "the client refuses a list beside other arguments: make one list of all, and pass it with ...")
	}
}

// nanoseconds is found in scripts that may take them.
var nanoseconds = regexp.MustCompile(`(?i)nano|_ns\b|1e[69]|000000`)

// missing finds keys that no call passes to a script, unless it asks for them.
func (h *handed) missing() {
	if slices.ContainsFunc(h.s.Calls, func(c golua.Call) bool { return c.Keys == nil }) {
		return
	}
	// Another call may leave out keys, and say so by an argument.
	most := slices.MaxFunc(h.s.Calls, func(a, b golua.Call) int { return len(a.Keys) - len(b.Keys) })
	needs := h.passesOn()
	for _, n := range slices.Sorted(maps.Keys(needs)) {
		if n > len(most.Keys) {
			h.findAt(h.s.Position(needs[n]), check.Nil, fmt.Sprintf("KEYS[%d] is nil: %s:%d passes %d", n, filepath.Base(most.At.Filename), most.At.Line, len(most.Keys)))
			return
		}
	}
}

// passesOn returns the elements of KEYS with which the code does nothing but pass them to calls, and where it does. It returns
// none if the code uses KEYS as a whole, such as for its length.
func (h *handed) passesOn() map[int]int {
	places, others := map[int]int{}, map[int]int{} // 0 is the whole
	for _, e := range h.C.Flow.Exprs {
		if h.C.IsList(e, "KEYS") {
			others[0]++
		} else if n := h.C.Nth(e, "KEYS"); n > 0 {
			others[n]++
			if _, written := e.(*parse.IndexExpr); written { // and no name for it
				others[0]--
			}
		}
	}
	for _, call := range h.C.Flow.Calls {
		for _, e := range call.Args {
			if n := h.C.Nth(e, "KEYS"); n > 0 {
				places[n], others[n] = e.Pos().Offset, others[n]-1
			}
		}
	}
	maps.DeleteFunc(places, func(n, _ int) bool { return others[n] > 0 || others[0] > 0 })
	return places
}
