package main

import (
	"regexp"

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
