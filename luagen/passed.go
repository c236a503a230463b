package main

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

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
	script.Comments = append(script.Comments, parse.Comment{Text: s.Doc})
	m := flow.NewCode(script, j.tables).Machine()
	h := &handed{j, m, s, draft.Learn(m)}
	for _, call := range s.Calls {
		for i, arg := range call.Args {
			h.argument(i+1, len(call.Args), arg)
		}
		h.exchanged(call.Args)
		if says := "nil and false arrive as an error of the client, and nothing here asks for it"; call.NoNil && (h.facts.Result == "bool" || h.facts.Result == "int?") {
			h.findAt(call.At, check.Result, says+": return 0")
		} else if call.NoNil && strings.HasSuffix(h.facts.Result, "?") {
			h.note([]string{call.At.String() + ": " + says})
		}
	}
	h.missing("KEYS", func(c golua.Call) []golua.Passed { return c.Keys })
	h.missing("ARGV", func(c golua.Call) []golua.Passed { return c.Args })
}

// missing finds the first element of KEYS or ARGV that no call passes, unless the script asks for it.
func (h *handed) missing(list string, of func(golua.Call) []golua.Passed) {
	most := 0
	for _, call := range h.s.Calls {
		given := of(call)
		if most = max(most, len(given)); given == nil || list == "ARGV" && len(given) < 2 { // Clients take one list apart.
			return
		}
	}
	lacks := func(e parse.Expr) bool { return h.C.Nth(e, list) > most || h.C.IsList(e, list) }
	asks := func(e parse.Expr) bool {
		u, unary := e.(*parse.UnaryExpr)
		b, binary := e.(*parse.BinaryExpr)
		return unary && lacks(u.X) || binary && !strings.Contains("..+-*/%", b.Op) && (lacks(b.L) || lacks(b.R))
	}
	if slices.ContainsFunc(h.C.Flow.Exprs, asks) || slices.ContainsFunc(h.C.Flow.Conds, lacks) {
		return
	}
	for _, call := range h.C.Flow.Calls {
		for _, e := range call.Args {
			if n := h.C.Nth(e, list); n > most {
				h.findAt(h.s.Position(e.Pos().Offset), check.Nil, fmt.Sprintf("%s[%d] is nil: no call passes more than %d", list, n, most))
				return
			}
		}
	}
}

// argument finds an argument that the script takes for something else, or the client refuses.
func (h *handed) argument(n, of int, arg golua.Passed) {
	switch is := h.facts.Types[n]; {
	case arg.As == "nanoseconds" && (flow.Units[is].Per > 0 || is == "number" && !nanoseconds.Match(h.s.Text)):
		h.findAt(arg.At, check.Time, "a time.Duration arrives in nanoseconds: write .Milliseconds(), or so many seconds")
	case arg.As == "refused":
		h.findAt(arg.At, check.Command, "go-redis refuses a value of this type: convert it, or give the type MarshalBinary")
	case arg.As == "time.Time" && is != "" && is != "channel":
		h.findAt(arg.At, check.Time, "a time.Time arrives as a text such as 2006-01-02T15:04:05Z, and the script takes a number: write .UnixMilli()")
	case h.apart(n, perSecond[arg.Unit]) > 0:
		h.findAt(arg.At, check.Time, fmt.Sprintf("this is in %s, and the script takes it in %s, or together with such a time",
			flow.UnitNames[perSecond[arg.Unit]], flow.UnitNames[h.apart(n, perSecond[arg.Unit])]))
	case arg.As == "float64" && flow.Units[is].Per > 0:
		h.findAt(arg.At, check.Expire, "this may have a fraction, for which an expiry fails: write .Milliseconds(), or math.Ceil")
	case strings.HasPrefix(arg.As, "int") && is == "seconds":
		h.note([]string{arg.At.String() + ": this is 0 for less than a second, for which an expiry fails: pass milliseconds, or round up"})
	case arg.As == "bool" && ofBool.MatchString(h.compared(n)):
		h.findAt(arg.At, check.Compare, "a bool arrives as '1' or '0', and the script compares it with another text")
	case arg.As == "list" && of > 1:
		h.findAt(arg.At, check.Command, "the client refuses a list beside other arguments: make one list of all, and pass it with ...")
	}
}

// perSecond has the units of what Go's methods give.
var perSecond = map[string]float64{"Unix": 1, "Seconds": 1, "UnixMilli": 1e3, "Milliseconds": 1e3, "UnixMicro": 1e6, "Microseconds": 1e6}

// apart returns the unit of ARGV[n], or of what the script adds to it, say, if that is another than is passed.
func (h *handed) apart(n int, passed float64) float64 {
	per := flow.Units[h.facts.Types[n]].Per
	for _, e := range h.C.Flow.Exprs {
		if b, ok := e.(*parse.BinaryExpr); ok && slices.Contains([]string{"+", "-", "<", ">", "<=", ">="}, b.Op) && h.C.Nth(b.L, "ARGV") == n {
			per = cmp.Or(per, flow.Units[h.facts.Types[h.C.Nth(b.R, "ARGV")]].Per)
		}
	}
	if passed == 0 || passed == per {
		return 0
	}
	return per
}

var aWord = regexp.MustCompile(`[a-z]{3,}`)
var ofBool = regexp.MustCompile(`^(?: true| false)+$`)

// compared returns the texts with which the script compares ARGV[n].
func (h *handed) compared(n int) (all string) {
	for _, e := range h.C.Flow.Exprs {
		if b, ok := e.(*parse.BinaryExpr); ok && h.C.Nth(b.L, "ARGV") == n {
			text, _ := parse.ConstantText(b.R)
			all += " " + text
		}
	}
	return all
}

// exchanged finds two arguments that the script takes the other way round, by the words of both.
func (h *handed) exchanged(given []golua.Passed) {
	fits := func(i, k int) bool {
		taken := aWord.FindAllString(h.C.NamesOf("ARGV", k+1)+" "+h.facts.Types[k+1], -1)
		return slices.ContainsFunc(aWord.FindAllString(flow.Spoken(given[i].Code), -1), func(word string) bool { return slices.Contains(taken, word) })
	}
	for i := range given {
		for k := range i {
			if fits(i, k) && fits(k, i) && !fits(i, i) && !fits(k, k) {
				h.findAt(given[k].At, check.Command, fmt.Sprintf("by its name this is ARGV[%d] of the script, and what is passed there is ARGV[%d]", i+1, k+1))
			}
		}
	}
}

// nanoseconds is found in scripts that may take them.
var nanoseconds = regexp.MustCompile(`(?i)nano|_ns\b|1e[69]|000000`)
