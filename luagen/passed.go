package main

import (
	"fmt"
	"go/token"
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
	s     *golua.Script
	code  *parse.Script
	facts draft.Facts
}

func (h *handed) find(at token.Position, rule, format string, args ...any) {
	pos := parse.Pos{Offset: at.Offset, Line: at.Line, Col: at.Column}
	h.findings = append(h.findings, parse.Finding{File: at.Filename, Pos: pos, Msg: fmt.Sprintf(format, args...), Rule: rule})
}

// passed finds what does not fit a script in the calls that pass it keys and arguments.
func (j *job) passed(s *golua.Script, script *parse.Script) {
	if len(s.Calls) == 0 || script.Body == nil {
		return
	}
	h := &handed{j, s, script, draft.Learn(script, j.tables)}
	for _, call := range s.Calls {
		for i, arg := range call.Args {
			h.argument(i+1, arg)
		}
	}
	h.missing()
}

// argument finds an argument in nanoseconds where the script takes a time of another unit.
func (h *handed) argument(n int, arg golua.Passed) {
	if is := h.facts.Types[n]; arg.Nano && (flow.Units[is].Per > 0 || is == "number" && !nanoseconds.Match(h.s.Text)) {
		h.find(arg.At, check.Time, "a time.Duration arrives in nanoseconds: write .Milliseconds(), or so many seconds")
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
	needs := h.passesOn(h.code)
	for _, n := range slices.Sorted(maps.Keys(needs)) {
		if n > len(most.Keys) {
			h.find(h.s.Position(needs[n]), check.Nil, "KEYS[%d] is nil: %s:%d passes %d", n, filepath.Base(most.At.Filename), most.At.Line, len(most.Keys))
			return
		}
	}
}

// passesOn returns the elements of KEYS with which the code does nothing but pass them to calls, and where it does. It returns
// none if the code uses KEYS as a whole, such as for its length.
func (j *job) passesOn(script *parse.Script) map[int]int {
	code := flow.NewCode(script, j.tables)
	places, others, whole := map[int]int{}, map[int]int{}, 0
	for _, e := range code.Flow.Exprs {
		if code.IsList(e, "KEYS") {
			whole++
		} else if n := code.Nth(e, "KEYS"); n > 0 {
			others[n]++
			if _, written := e.(*parse.IndexExpr); written { // and no name for it
				whole--
			}
		}
	}
	for _, call := range code.Flow.Calls {
		for _, e := range call.Args {
			if n := code.Nth(e, "KEYS"); n > 0 {
				places[n], others[n] = e.Pos().Offset, others[n]-1
			}
		}
	}
	maps.DeleteFunc(places, func(n, _ int) bool { return others[n] > 0 || whole > 0 })
	return places
}
