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
	"github.com/hasp-go/hasp/luagen/internal/units"
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
		h.derived(call)
		if at := h.adds(); call.Again && at != nil {
			h.note([]string{h.s.Position(at.P.Offset).String() + ": if a reply is lost, the client sends this again, and it adds twice: note in a second key what was done"})
		}
		if says := "nil and false arrive as an error of the client, and nothing here asks for it"; call.NoNil && (h.facts.Result == "bool" || h.facts.Result == "int?") {
			h.findAt(call.At, check.Result, says+": return 0")
		} else if call.NoNil && strings.HasSuffix(h.facts.Result, "?") {
			h.note([]string{call.At.String() + ": " + says})
		}
	}
	h.missing("KEYS", func(c golua.Call) []golua.Passed { return c.Keys })
	h.missing("ARGV", func(c golua.Call) []golua.Passed { return c.Args })
}

// adds returns the call by which a script does more if it runs twice, if that is about the only key that it writes.
func (h *handed) adds() (adds *parse.CallExpr) {
	keys := map[string]bool{}
	for _, call := range h.C.Calls() {
		if h.C.Writes(call.Expr) && len(call.Names) == 1 && len(call.Words) > 1 {
			keys[h.KeyText(call.Words, 1)] = true
			if flow.Is(call.Names[0], "adding") {
				adds = call.Expr
			}
		}
	}
	if len(keys) > 1 {
		return nil
	}
	return adds
}

// derived notes a key that a script makes of one without a hash tag.
func (h *handed) derived(call golua.Call) {
	for _, e := range h.C.Flow.Exprs {
		n := h.C.Nth(parse.Operands(e, "..")[0], "KEYS")
		if n > 0 && n <= len(call.Keys) && call.OnCluster && untagged.MatchString(call.Keys[n-1].Code) && slices.ContainsFunc(h.C.Calls(), func(c flow.CommandCall) bool {
			return len(c.Words) > 1 && h.C.Origin(c.Words[1]) == e
		}) && h.C.Nth(e, "KEYS") == 0 {
			h.note([]string{h.s.Position(e.Pos().Offset).String() + ": a cluster has this key on another node than that of which it is made, unless that has a {tag}"})
		}
	}
}

// missing finds the first element of KEYS or ARGV that no call passes, unless the script asks for it.
func (h *handed) missing(list string, of func(golua.Call) []golua.Passed) {
	most := 0
	for _, call := range h.s.Calls {
		given := of(call)
		if most = max(most, len(given)); given == nil || list == "ARGV" && len(given) == 1 { // Clients take one list apart.
			return
		}
	}
	lacks := func(e parse.Expr) bool { return h.C.Nth(e, list) > most || h.C.IsList(e, list) }
	asks := func(e parse.Expr) bool {
		u, unary := e.(*parse.UnaryExpr)
		b, binary := e.(*parse.BinaryExpr)
		either := binary && (b.Op == "and" || b.Op == "or")
		return unary && lacks(u.X) || binary && (lacks(b.L) && (either || flow.ConstantKind(b.R) != 0) || lacks(b.R) && (either || flow.ConstantKind(b.L) != 0))
	}
	if slices.ContainsFunc(h.C.Flow.Exprs, asks) || slices.ContainsFunc(h.C.Flow.Conds, lacks) {
		return
	}
	for _, e := range h.C.Flow.Exprs {
		if n := h.C.Nth(e, list); n > most {
			at := h.s.Calls[0].Counted
			if !at.IsValid() {
				at = h.s.Position(e.Pos().Offset)
			}
			h.findAt(at, check.Nil, fmt.Sprintf("%s[%d] is nil: no call passes more than %d", list, n, most))
			return
		}
	}
}

// argument finds an argument that the script takes for something else, or the client refuses.
func (h *handed) argument(n, of int, arg golua.Passed) {
	switch is := h.facts.Types[n]; {
	case arg.As == "nanoseconds" && (units.ByType[is].Per > 0 || is == "number" && !nanoseconds.Match(h.s.Text)):
		h.findAt(arg.At, check.Time, "a time.Duration arrives in nanoseconds: write .Milliseconds(), or so many seconds")
	case arg.As == "refused":
		h.findAt(arg.At, check.Command, "go-redis refuses a value of this type: convert it, or give the type MarshalBinary")
	case arg.As == "time.Time" && is != "" && is != "channel":
		h.findAt(arg.At, check.Time, "a time.Time arrives as a text such as 2006-01-02T15:04:05Z, and the script takes a number: write .UnixMilli()")
	case h.apart(n, perSecond(arg)) > 0:
		h.findAt(arg.At, check.Time, fmt.Sprintf("this is in %s, and the script takes it in %s, or together with such a time",
			units.Names[perSecond(arg)], units.Names[h.apart(n, perSecond(arg))]))
	case strings.HasPrefix(arg.Unit, "Unix") && units.ByType[is].As == units.Duration:
		h.findAt(arg.At, check.Time, "this is a moment, and the script takes a duration here")
	case arg.As == "float64" && units.ByType[is].Per > 0:
		h.findAt(arg.At, check.Expire, "this may have a fraction, for which an expiry fails: write .Milliseconds(), or math.Ceil")
	case strings.HasPrefix(arg.As, "int") && is == "seconds":
		h.note([]string{arg.At.String() + ": this is 0 for less than a second, for which an expiry fails: pass milliseconds, or round up"})
	case arg.As == "bool" && ofBool.MatchString(h.compared(n)):
		h.findAt(arg.At, check.Compare, "a bool arrives as '1' or '0', and the script compares it with another text")
	case arg.As == "list" && of > 1, arg.As == "list of others":
		h.findAt(arg.At, check.Command, "the client takes no such list here: make one of all arguments, and pass it with ...")
	}
}

var aName = regexp.MustCompile(`^(?: [\w.]*\b(\w+))+$`)
var given = map[string]float64{"Unix": 1, "Seconds": 1, "UnixMilli": 1e3, "Milliseconds": 1e3, "UnixMicro": 1e6, "Microseconds": 1e6}

// perSecond returns the unit of what Go's methods give, or of what its name says.
func perSecond(arg golua.Passed) float64 {
	name := append(aName.FindStringSubmatch(arg.Code), "", "")[1]
	return cmp.Or(given[arg.Unit], units.Said(name, units.InName).Per)
}

// apart returns the unit of ARGV[n], or of what the script adds to it, say, if that is another than is passed.
func (h *handed) apart(n int, passed float64) float64 {
	per := units.ByType[h.facts.Types[n]].Per
	for _, e := range h.C.Flow.Exprs {
		if b, ok := e.(*parse.BinaryExpr); ok && slices.Contains([]string{"+", "-", "<", ">", "<=", ">="}, b.Op) && h.C.Nth(b.L, "ARGV") == n {
			per = cmp.Or(per, units.ByType[h.facts.Types[h.C.Nth(b.R, "ARGV")]].Per)
		}
	}
	if passed == 0 || passed == per {
		return 0
	}
	return per
}

var aWord = regexp.MustCompile(`[a-z]{3,}`)
var untagged = regexp.MustCompile(`^[^{]*"[^{]*$`)
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
		return slices.ContainsFunc(aWord.FindAllString(units.Spoken(given[i].Code), -1), func(word string) bool { return slices.Contains(taken, word) })
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
