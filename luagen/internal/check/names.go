package check

import (
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/check/flow"
	"github.com/hasp-go/hasp/luagen/internal/parse"
)

func (j *judge) names() {
	assembled, last := j.C.Assembled(), j.lastRead()
	for _, v := range j.C.S.Vars {
		switch v.Kind {
		case parse.DeclaredVar:
			if len(v.Reads) == 0 {
				j.report(v.Pos, Unused, "%s is declared and never used", v.Name)
			}
			for _, w := range v.Writes {
				j.report(w.P, Assign, "assignment to the declared name %s", v.Name)
			}
		case parse.LocalVar, parse.FuncVar:
			shared := v.Kind == parse.FuncVar && (j.C.S.Header.Library || j.C.S.Raw) || assembled
			before := slices.ContainsFunc(j.C.Flow.Sources[v], func(s flow.Source) bool { return s.Nth < last[s.Expr] })
			if len(v.Reads) == 0 && v.Name != "_" && !shared && !before {
				j.report(v.Pos, Unused, "%s is never used", v.Name)
			}
		}
	}
}

// lastRead returns the last place among an expression's values that a name which is read gets: those before it need names, too.
func (j *judge) lastRead() map[parse.Expr]int {
	last := map[parse.Expr]int{}
	for x, all := range j.C.Flow.Sources {
		for _, s := range all {
			if s.Expr != nil && len(x.Reads) > 0 {
				last[s.Expr] = max(last[s.Expr], s.Nth)
			}
		}
	}
	return last
}

// globals checks every use of a name that is not local. A name without a declaration is one fault.
func (j *judge) globals() {
	assembled, found := j.C.Assembled(), j.assigned()
	unread := slices.ContainsFunc(j.C.S.Header.Includes, func(i *parse.Include) bool { return i.Unread })
	for _, g := range j.C.S.Globals {
		switch known, list := parse.KnownGlobal(g.Name), map[string]string{"KEYS": "---@key", "ARGV": "---@arg"}[g.Name]; {
		case j.C.S.Raw && (list != "" || g.Name == "server"), !known && assembled:
		case list != "":
			j.report(g.P, Index, "%s by index: declare a name with %s", g.Name, list)
		case slices.Contains(j.C.S.Header.Tried, g.Name), g.Name == "server" && !j.C.S.Header.Targets("redis"), found[g.Name], unread && !known:
		case !known:
			found[g.Name] = true
			j.report(g.P, Undeclared, "%s is not declared%s", g.Name, map[bool]string{true: ": only Valkey has it; write redis"}[g.Name == "server"])
		default:
			j.lacking(g.P, g.Name)
		}
	}
}

// assigned finds the global names that the script assigns to.
func (j *judge) assigned() map[string]bool {
	found := map[string]bool{}
	for _, g := range j.C.S.Globals {
		if g.Set && !found[g.Name] {
			found[g.Name] = true
			j.report(g.P, SetGlobal, "assignment to the global %s: write local", g.Name)
		}
	}
	return found
}

// lacking finds a name that a server of the script does not have. What a raw script is meant for is not known.
func (j *judge) lacking(pos parse.Pos, name string) {
	for _, t := range j.C.Targets {
		if !j.C.S.Raw && slices.Contains(t.Lacks, name) {
			j.report(pos, Undeclared, "%s %s has no %s", flow.Title(t.Server), t.Version, name)
		}
	}
}

// memberOfLibrary checks a use of X.name where X is a library of the server.
func (j *judge) memberOfLibrary(e *parse.IndexExpr) {
	lib, name := flow.MemberOf(e)
	if lib == nil {
		return
	}
	switch members := parse.Members(lib.Name); {
	case members == nil, j.C.Members[lib.Name+"."+name.Value]:
	case slices.Contains(members, name.Value):
		j.lacking(name.P, lib.Name+"."+name.Value)
	default:
		j.report(name.P, Undeclared, "there is no %s.%s", lib.Name, strings.TrimSpace(name.Value))
	}
}

// rawKey finds the first key of a raw script that certainly does not come from KEYS: it is an argument, or begins with a
// text that is written out, or with each argument in turn. What one argument or a reply begins with may be the hash tag of the
// script's keys, if it has any. Of a function's parameter it looks at what each call passes.
func (j *judge) rawKey(e parse.Expr, cmd *flow.Command, left int) {
	of, isParam := j.C.Flow.Params[parse.VarOf(parse.Unparen(e))]
	for _, call := range j.C.Flow.Called[of.Owner] {
		if isParam && of.N < len(call.Args) && left > 0 {
			j.rawKey(call.Args[of.N], cmd, left-1)
		}
	}
	given := j.C.Certainly(flow.AForeign, e) && (j.C.Certainly(flow.AWritten, e) || j.eachOf(e))
	if !isParam && !given && flow.HasKeys(j.C.S) && !j.C.Assembled() && j.C.Certainly(flow.AForeign, e) && !j.C.Flow.Within(e, j.C.IsParam) {
		j.note(e.Pos(), "this key is made of an argument or a reply: a cluster has it on the node of the script's keys only if it begins with their hash tag")
	}
	if isParam || j.keyFound || !given && (flow.HasKeys(j.C.S) || j.C.Assembled() || j.C.Flow.Within(e, j.C.IsParam)) {
		return
	}
	j.keyFound = true
	j.report(j.C.Origin(e).Pos(), Key, "%s takes a key here that does not come from KEYS: a cluster may have it on "+
		"another node", flow.Shown(cmd.Name))
}

// eachOf reports whether a key is an element of ARGV, or begins with each in turn.
func (j *judge) eachOf(key parse.Expr) bool {
	front := key
	for b, ok := j.C.Origin(front).(*parse.BinaryExpr); ok && b.Op == ".."; b, ok = j.C.Origin(front).(*parse.BinaryExpr) {
		front = b.L
	}
	return j.C.Certainly(flow.AGiven, front) && (front == key || j.C.Nth(front, "ARGV") == 0)
}

// arguments checks the words of a call that must be keys or channels.
func (j *judge) arguments(call flow.CommandCall, cmd *flow.Command) {
	for _, p := range flow.Places(call, cmd) {
		pos := call.Words[p.Word].Pos()
		switch {
		case j.C.S.Raw && p.Quality == flow.AKey:
			j.rawKey(call.Words[p.Word], cmd, flow.MaxCallers)
		case j.C.S.Raw:
		case j.C.IsAt(call, p):
			j.keyKind(call, cmd, p)
		case p.Quality == flow.AChannel:
			j.report(pos, Channel, "%s takes a channel here, but luagen cannot prove that this is a declared one",
				flow.Shown(cmd.Name))
		default:
			j.unproven = append(j.unproven, func() {
				if !j.settled[call.Words[p.Word]] {
					j.report(pos, Key, "%s takes a key here, but luagen cannot prove that this is a declared one", flow.Shown(cmd.Name))
				}
			})
		}
	}
}

func (j *judge) keyKind(call flow.CommandCall, cmd *flow.Command, p flow.Place) {
	e := call.Words[p.Word]
	b := j.C.DeclaredKey(e)
	if b == nil || b.Kind != parse.Key || b.KeyKind == "any" || len(cmd.Kinds) == 0 || slices.Contains(cmd.Kinds, b.KeyKind) ||
		b.KeyKind == "set" && flow.Is(cmd.Name, "set algebra") && p.Word > 1 { // which takes sets too
		return
	}
	j.report(e.Pos(), Kind, "%s is for a %s, and %s is declared a %s", flow.Shown(cmd.Name),
		strings.Join(cmd.Kinds, " or "), b.Name, b.KeyKind)
}

// includedCalls finds calls of included functions that use what they get as a key or channel, where that is none.
func (j *judge) includedCalls() {
	for _, call := range j.C.Flow.Calls {
		in, body := j.C.Enter(call)
		if body != nil && in.Misuses(body) {
			j.report(call.P, Key, "%s uses its argument as a key or channel, but luagen cannot prove "+
				"that it is a declared one", call.Fn.(*parse.NameExpr).Name)
		}
	}
}

// undeclarable says of commands that reach keys which no script can declare what is wrong with them.
var undeclarable = flow.ByName(map[string]string{
	"%s names keys that are not passed to the script, of one node only: pass them": "keys randomkey scan",
	"%s deletes keys that are not passed to the script: pass them, and call DEL":   "flushall flushdb",
	"%s is for databases, of which a cluster has one: use other keys":              "move select swapdb",
})
