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
			near := ""
			if len(found) <= flow.MaxNames {
				near = j.near(g.Name)
			}
			j.report(g.P, Undeclared, "%s is not declared%s", g.Name, near)
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
	if j.C.S.Raw {
		return
	}
	for _, t := range j.C.Targets {
		if slices.Contains(t.Lacks, name) {
			j.report(pos, Undeclared, "%s %s has no %s", flow.Title(t.Server), t.Version, name)
		}
	}
}

// near returns a suggestion for a name that is not known.
func (j *judge) near(name string) string {
	if name == "server" {
		return ": only Valkey has it; write redis"
	}
	var names []string
	for _, v := range j.C.S.Vars {
		names = append(names, v.Name)
	}
	names = append(names, parse.GlobalNames()...)
	slices.Sort(names)
	if near := parse.Nearest(name, names); near != "" && near != name {
		return ": did you mean " + near + "?"
	}
	if slices.Contains(names, name) {
		return " here: the name of that spelling is not visible"
	}
	return ""
}

// member checks a use of X.name where X is a library of the server.
func (j *judge) memberOfLibrary(e *parse.IndexExpr) {
	lib, name := flow.MemberOf(e)
	if lib == nil {
		return
	}
	members := parse.Members(lib.Name)
	switch {
	case members == nil, j.C.Members[lib.Name+"."+name.Value]:
		return
	case slices.Contains(members, name.Value):
		j.lacking(name.P, lib.Name+"."+name.Value)
		return
	}
	near := parse.Nearest(name.Value, members)
	if near != "" {
		near = ": did you mean " + lib.Name + "." + near + "?"
	}
	j.report(name.P, Undeclared, "there is no %s.%s%s", lib.Name, strings.TrimSpace(name.Value), near)
}
