package check

import (
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/check/flow"
	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// checkWords checks that a call has the form of its command.
func (j *judge) checkWords(call flow.CommandCall, name string) {
	for _, word := range call.Words[:len(call.Words)-1] {
		if fn, ok := word.(*parse.CallExpr); ok && j.C.Callee(fn) == "unpack" {
			j.find(word.Pos(), Command, "unpack gives one value here, as it is not the last word: put all words into a table")
		}
	}
	switch match := j.FormOf(call, name); {
	case match.Cmd == nil:
	case match.As == nil:
		j.misses(call, match)
	default:
		j.places(match)
		j.useless(call, match)
	}
}

// misses finds a call that does not have the form of its command.
func (j *judge) misses(call flow.CommandCall, match *flow.Matching) {
	cmd := match.Cmd
	form := flow.Shown(cmd.Name) + " " + strings.NewReplacer(",", " ", "#", "").Replace(cmd.Form)
	if match.Furthest >= len(call.Words) {
		j.find(call.Words[len(call.Words)-1].Pos(), Command, "%s lacks a word behind this: its form is %s", flow.Shown(cmd.Name), form)
		return
	}
	j.find(call.Words[match.Furthest].Pos(), Command, "%s does not take this word here: its form is %s", flow.Shown(cmd.Name), form)
}

// places checks the values of a call whose words have these places.
func (j *judge) places(match *flow.Matching) {
	cmd := match.Cmd
	for i, f := range match.As {
		word := match.Words[i]
		j.field(match, word, f)
		if v := j.Peek(word); f.Number {
			if slices.Contains(counting, cmd.Name) && (v.Frac || v.Split && !j.State.Knows(flow.SomeWhole)) {
				j.may(word.Pos(), Command, "%s fails if this has a fraction: write math.ceil", flow.Shown(cmd.Name))
			}
		}
		_, chosen := j.C.Origin(match.Words[max(i, 1)-1]).(*parse.StringExpr)
		if chosen || i > 0 && !match.As[i-1].IsToken() { // else the caller chooses the unit
			j.expiry(cmd, word, f, match.Words[len(match.Words)-1])
		}
	}
}

// counting are the commands that add whole numbers only.
var counting = []string{"decrby", "hincrby", "incrby"}

// useless finds a SET whose reply is always the same, as it lacks an option: of a key that no call before is about.
func (j *judge) useless(call flow.CommandCall, match *flow.Matching) {
	options, written := match.Options()
	if match.Cmd.Name != "set" || !written || call.Open || !j.Raises(call.Expr) || options.Has("nx", "xx", "get", "ifeq") || !j.C.InCondition(call.Expr) {
		return
	}
	all := j.C.Flow.Calls
	if len(all) < flow.MaxWithin && !slices.ContainsFunc(all[:slices.Index(all, call.Expr)], func(e *parse.CallExpr) bool {
		c, _ := j.C.CommandCall(e)
		return len(c.Names) > 0 && j.KeyText(c.Words, 1) == j.KeyText(match.Words, 1)
	}) {
		j.find(match.Words[0].Pos(), Command, "SET without NX always stores, so its reply is always true: write NX")
	}
}

// field finds a field that the key of a call is declared without.
func (j *judge) field(match *flow.Matching, e parse.Expr, f flow.Form) {
	name, literal := j.C.Origin(e).(*parse.StringExpr)
	if !literal || f.Word != "field" {
		return
	}
	if key := j.C.DeclaredKey(match.Words[1]); key != nil && key.Fields != nil {
		if _, msg := key.Field(name.Value); msg != "" {
			j.find(e.Pos(), Field, "%s", msg)
		}
	}
}

const manyGiven = "unpack fails from 8000 elements on: if callers may pass as many, go through ARGV in parts"

// unpacked finds the first unpack of a reply that has no bound, or one above what unpack takes.
func (j *judge) unpacked(args []parse.Expr, v flow.Value) {
	if !j.Whole(args, v) {
		return
	}
	if v.Given {
		j.note(args[0].Pos(), manyGiven)
	}
	if j.unpacks[flow.VarOf(flow.Unparen(args[0]))] = true; v.Long() {
		j.may(args[0].Pos(), Command, "unpack fails from 8000 elements on, and this list may have as many: go through it in parts")
	}
}
