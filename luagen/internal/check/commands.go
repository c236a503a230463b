package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/check/flow"
	"github.com/hasp-go/hasp/luagen/internal/parse"
)

func (j *judge) commands() {
	calls := j.C.Calls()
	for _, e := range j.C.Flow.Calls {
		j.unwritten(e)
	}
	escape := j.C.Escape() // What it reaches is not checked.
	if escape != nil && (!j.C.S.Raw || flow.HasKeys(j.C.S)) {
		j.report(escape.Pos(), Key, "luagen cannot see which commands and keys this leads to: call redis.call directly")
	}
	writes, sure := false, len(calls) > 0 && escape == nil && len(j.C.S.Header.Includes) == 0
	for _, call := range calls {
		sure = sure && len(call.Names) > 0
		for _, name := range call.Names {
			for _, t := range j.C.Targets {
				cmd := j.command(t, call, name)
				if sure = sure && cmd != nil; cmd != nil {
					writes = writes || cmd.Writes
					if text := undeclarable[cmd.Name]; text != "" {
						j.report(call.Words[0].Pos(), Key, text, strings.ToUpper(cmd.Name))
					}
					if j.C.S.Header.ReadOnly && cmd.Writes {
						j.report(call.Words[0].Pos(), ReadOnly, "%s is not allowed in a read-only script", flow.Shown(cmd.Name))
					}
					j.arguments(call, cmd)
				}
			}
		}
	}
	h := j.C.S.Header
	if sure && !writes && !j.C.S.Raw && !h.ReadOnly && !h.Library && !slices.Contains(h.Flags, "no-writes") {
		j.report(calls[0].Expr.P, ReadOnly,
			"the script only reads: say ---@readonly, or ---@allow this if it is to stay as it is")
	}
}

// unwritten finds a call without a command, or of one that is made at run time.
func (j *judge) unwritten(e *parse.CallExpr) {
	switch call, ok := j.C.CommandCall(e); {
	case !ok:
	case len(call.Words) == 0:
		j.report(e.P, Command, "a call without a command")
	case len(call.Names) == 0 && (!j.C.S.Raw || j.C.Nth(call.Words[0], "ARGV") > 0 && len(call.Words) > 1 && j.C.Nth(call.Words[1], "KEYS") > 0):
		j.report(call.Words[0].Pos(), Command,
			"the command is made at run time: write it out, or declare it with ---@command")
	}
}

// unknown finds a command that a target does not know. A name with a dot is a module's.
func (j *judge) unknown(t *flow.Table, pos parse.Pos, name string) {
	if strings.Contains(name, ".") || j.C.Elsewhere(name) {
		return
	}
	says := fmt.Sprintf("%s %s does not know the command %s", flow.Title(t.Server), t.Version, flow.Shown(name))
	by, known := j.C.KnownBy(t.Server, name)
	if near := parse.Nearest(name, slices.Sorted(maps.Keys(t.Commands))); by != "" {
		says += ": " + by + " does, for which say ---@since"
	} else if !known && near != "" && parse.Distance(name, near) < 3 {
		says = fmt.Sprintf("there is no command %s: did you mean %s?", flow.Shown(name), strings.ReplaceAll(near, "|", " "))
	}
	j.report(pos, Command, "%s", says)
}

// command returns what a target knows of a command, nil if it knows nothing of this call.
func (j *judge) command(t *flow.Table, call flow.CommandCall, name string) *flow.Command {
	word, cmd := call.Words[0], t.Commands[name]
	if cmd != nil && cmd.Subs {
		sub, ok := flow.Subcommand(call)
		if !ok {
			return nil
		}
		word, name = call.Words[1], name+"|"+sub
		cmd = t.Commands[name]
	}
	switch {
	case cmd == nil:
		j.unknown(t, word.Pos(), name)
	case cmd.Noscript && j.C.Elsewhere(cmd.Name):
	case cmd.Noscript:
		j.report(call.Words[0].Pos(), Command, "%s %s does not allow %s in scripts", flow.Title(t.Server), t.Version, flow.Shown(cmd.Name))
	case cmd.Refuses(call):
		j.refuses(call, cmd)
	default:
		return cmd
	}
	return nil
}

// refuses finds a wrong number of words, unless the last is a table, which was to be unpacked.
func (j *judge) refuses(call flow.CommandCall, cmd *flow.Command) {
	takes := flow.Itoa(cmd.Arity - 1)
	if cmd.Arity < 0 {
		takes = "at least " + flow.Itoa(-cmd.Arity-1)
	}
	j.unproven = append(j.unproven, func() {
		if !j.settled[call.Words[len(call.Words)-1]] {
			j.report(call.Words[0].Pos(), Command, "wrong number of arguments for %s: %d, it takes %s", flow.Shown(cmd.Name), call.Least()-1, takes)
		}
	})
}

// checkWords checks that a call has the form of its command.
func (j *judge) checkWords(call flow.CommandCall, name string) {
	match, last := j.FormOf(call, name), call.Words[len(call.Words)-1]
	list := j.Passed(last, "unpack")
	if fn, ok := last.(*parse.CallExpr); ok && j.C.Callee(fn) == "unpack" && len(fn.Args) > 0 && len(fn.Args) < 3 && j.C.IsList(fn.Args[0], "ARGV") {
		j.note(fn.Args[0].Pos(), "unpack fails from 8000 elements on: if callers may pass as many, go through ARGV in parts")
	}
	if _, reply := j.C.Origin(list).(*parse.CallExpr); match.Cmd != nil && -match.Cmd.Arity > call.Least() && j.MayBeEmpty(list, j.Peek(list)) {
		if reply {
			j.may(list.Pos(), Command, "this list may be empty, and %s fails without a word from it: ask for # of it first", flow.Shown(name))
		} else if slices.ContainsFunc(j.C.Flow.Stores[parse.VarOf(list)], func(e parse.Expr) bool { return e != nil && j.C.Certainly(flow.AGiven, e) }) {
			j.note(list.Pos(), "if callers pass nothing for this list, it gives no word, and the command fails: ask for # of it first")
		}
	}
	if v := j.Peek(list); call.Open && name == "zadd" && v.Elem != nil && v.Elem.Paired {
		j.find(list.Pos(), Command, "this has each score behind its member, and ZADD takes it before: turn them round")
	}
	if match.Cmd == nil || match.As != nil {
		j.places(match)
		return
	}
	shown, says, at := flow.Shown(match.Cmd.Name), "does not take this word here", match.Furthest
	if at >= len(call.Words) {
		says, at = "lacks a word behind this", len(call.Words)-1
	}
	form := strings.NewReplacer(",", " ", "#", "").Replace(match.Cmd.Form)
	j.find(call.Words[at].Pos(), Command, "%s %s: its form is %s %s", shown, says, shown, form)
}

// places checks the values of a call whose words have these places.
func (j *judge) places(match *flow.Matching) {
	cmd := match.Cmd
	for i, f := range match.As {
		word := match.Words[i]
		j.field(match, word, f)
		if v := j.Peek(word); f.Number && flow.Is(cmd.Name, "counting") && (v.Frac || v.Split && !j.State.Knows(flow.SomeWhole)) {
			j.may(word.Pos(), Command, "%s fails if this has a fraction: write math.ceil", flow.Shown(cmd.Name))
		}
		_, chosen := j.C.Origin(match.Words[max(i, 1)-1]).(*parse.StringExpr)
		if chosen || i > 0 && !match.As[i-1].IsToken() { // else the caller chooses the unit
			j.expiry(cmd, word, f, match.Words[len(match.Words)-1])
		}
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

// unpacked finds the first unpack of a reply that has no bound, or one above what unpack takes.
func (j *judge) unpacked(args []parse.Expr, v flow.Value) {
	if v.Endless && j.Whole(args, v) {
		j.may(args[0].Pos(), Command, "unpack fails from 8000 elements on, and this list may have as many: go through it in parts")
	}
}
