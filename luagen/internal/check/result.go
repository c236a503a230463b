package check

import (
	"regexp"
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/check/flow"
	"github.com/hasp-go/hasp/luagen/internal/parse"
	"github.com/hasp-go/hasp/luagen/internal/units"
)

// rawReturn checks what a raw script returns: only a nil before a value in a table is certainly wrong.
func (j *judge) rawReturn(v flow.Value, list []parse.Expr) {
	if parse.IsBool(list[0], false) && slices.ContainsFunc(j.C.Flow.Returned[nil], func(e parse.Expr) bool { return parse.IsBool(e, true) }) {
		j.note(list[0].Pos(), "true arrives as 1 here, and false as nil, not 0: clients may take that for an error")
	}
	table, ok := j.C.Origin(list[0]).(*parse.TableExpr)
	if ok && !j.C.Resp3 {
		j.namesIn(table)
	}
	if v.ByName != nil && !v.Rows && !j.C.Resp3 && v.Is&(flow.IsText|flow.IsNumber) == 0 && (!ok || len(table.Fields) == 0) {
		j.find(list[0].Pos(), Result, noNames)
	}
	if x := parse.VarOf(list[0]); ok && x != nil && len(x.Reads) == 1 { // It was made before, and is only returned.
		v = j.Peek(table)
	}
	if !v.Closed && len(list) == 1 {
		j.rawResult(v, list[0])
	}
	for i := 0; v.Closed && ok && i < len(v.Items); i++ {
		j.rawResult(v.Items[i], table.Fields[i].Value)
		if i+1 < len(v.Items) && v.Items[i+1].Is != flow.IsNil {
			j.hole(v.Items[i], v.Places[i])
		}
	}
}

const noNames = "a reply has no names, so this is lost: return a list, or what cjson.encode makes of the table"

// namesIn finds the first field with a name in a table that is returned. Of those a reply has one alone, which says its kind.
func (j *judge) namesIn(table *parse.TableExpr) {
	for _, f := range table.Fields {
		name, ok := f.Key.(*parse.StringExpr)
		if ok && (len(table.Fields) > 1 && !slices.Contains([]string{"err", "format", "string"}, name.Value) || !flow.Is(name.Value, "names of replies")) {
			j.find(name.Pos(), Result, noNames)
			return
		}
	}
}

func (j *judge) rawResult(v flow.Value, e parse.Expr) {
	j.turns(v, e.Pos())
	call, made := parse.Unparen(e).(*parse.CallExpr) // such as the result of a function
	made = made && !strings.HasPrefix(j.C.Callee(call), "math.m") && j.C.Callee(call) != "tonumber"
	if v.Surely(flow.IsNumber) && (v.Frac || v.Split) && v.Unit.Per < 1000 && !made && (v.Unit.Per > 0 || !restName.MatchString(units.Spoken(j.C.NameOf(e)))) {
		j.may(e.Pos(), Result, lostFraction)
	}
}

// turns finds what is by turns a name and what belongs to it, and a number of such elements, where it is taken for one of them.
func (j *judge) turns(v flow.Value, pos parse.Pos) {
	switch {
	case v.Paired && v.Is == flow.IsNumber:
		j.find(pos, Command, "this counts names and values, or members and scores: divide it by 2")
	case v.Paired:
		j.find(pos, Command, "this is a name or a member in one turn, and what belongs to it in the next: go in steps of 2")
	}
}

// restName is of numbers of which a script returns the whole part.
var restName = regexp.MustCompile(`\b(?:remaining|tokens?|count|cost|bucket|slots?)$`)

func (j *judge) nothing(pos parse.Pos) {
	results := j.C.S.Header.Returns
	switch {
	case len(results) == 0, j.C.S.Header.None != nil:
	case len(results) > 1:
		j.find(pos, Result, "a path ends here without the results %s and so on", results[0].Name)
	case !mayBeNil(results[0].Type):
		j.find(pos, Result, "a path ends here without a result: %s", declares(results[0]))
	}
}

func mayBeNil(t parse.Type) bool { return (t.Optional || t.Name == "bool") && !t.List }

func declares(r *parse.Result) string {
	return r.Name + " is declared " + r.Type.String() + map[bool]string{true: "[]"}[r.Type.List]
}

// tuple checks the value of a script that returns several results.
func (j *judge) tuple(results []*parse.Result, v flow.Value, pos parse.Pos) {
	switch {
	case v.Is == flow.IsFailed, v.Is&^flow.Absent == 0 && j.C.S.Header.None != nil:
	case v.Is&(flow.IsTable|flow.IsFailed) == 0:
		j.find(pos, Result, "this is %s, and %d results are a table", v.Is, len(results))
	case v.Is != flow.IsTable || !v.Closed:
	case len(v.Items) != len(results):
		j.find(pos, Result, "this is a table of %d, and there are %d results", len(v.Items),
			len(results))
	default:
		for i, item := range v.Items {
			if !j.hole(item, v.Places[i]) {
				j.result(results[i], item, v.Places[i])
			}
		}
	}
}

// accepts returns the kinds of replies from which the wrapper reads a result.
func accepts(t parse.Type) flow.Kinds {
	switch {
	case t.List, t.Hash != nil, t.Name == "scores":
		return flow.IsTable
	case t.Name == "bool":
		return flow.IsNumber | flow.Boolean | flow.IsNil
	case t.Name == "string", t.Name == "bytes":
		return flow.IsText | flow.IsNumber | flow.IsTrueValue | flow.IsStatus
	}
	return flow.IsText | flow.IsNumber | flow.IsTrueValue
}

func (j *judge) result(r *parse.Result, v flow.Value, pos parse.Pos) {
	rest := v.Is &^ (flow.Absent | flow.IsFailed)
	j.meet(pos, flow.Value{Number: flow.Number{Unit: units.ByType[r.Type.Name]}}, v)
	switch {
	case v.Is&^flow.Absent == 0 && !mayBeNil(r.Type):
		j.find(pos, Result, "this is nil for the wrapper, and %s", declares(r))
	case rest != 0 && rest&accepts(r.Type) == 0:
		remedy := map[bool]string{true: "; write (...) and 1 or 0"}[rest == flow.IsStatus && r.Type.Name == "bool"]
		j.find(pos, Result, "this is %s, and %s%s", rest, declares(r), remedy)
	case v.Is&^flow.IsFailed == flow.Boolean && !mayBeNil(r.Type):
		j.find(pos, Result, "false arrives as nil, and %s: write (...) and 1 or 0", declares(r))
	case rest == flow.IsText && accepts(r.Type) == flow.IsText|flow.IsNumber|flow.IsTrueValue && (v.Word || v.Frac && r.Type.Name != "float"):
		j.find(pos, Result, "this text is no whole number, and %s", declares(r))
	case r.Type.Name == "scores" && v.Elem != nil && v.Elem.Role == flow.AMember:
		j.find(pos, Result, "these are members without their scores, and %s: write WITHSCORES", declares(r))
	case r.Type.Hash != nil && v.From != nil:
		j.hash(r, v, pos)
	case r.Type.List && v.Is == flow.IsTable:
		j.elementsOf(r, v, pos)
	case rest == flow.IsNumber:
		if r.Type.Name == "float" && !v.Whole || r.Type.Name != "bool" && v.Frac {
			j.may(pos, Result, lostFraction)
		}
	}
}

func (j *judge) elementsOf(r *parse.Result, v flow.Value, pos parse.Pos) {
	element := *r
	element.Type.List = false
	if v.Elem != nil && v.Elem.Is == flow.IsText|flow.IsFalseValue && !mayBeNil(element.Type) {
		j.find(pos, Result, "an element of this is nil if there is none, and %s: write %s?[]",
			declares(r), element.Type)
	}
	for i, item := range v.Items {
		if i < len(v.Places) && !j.hole(item, v.Places[i]) {
			j.result(&element, item, v.Places[i])
		}
	}
}

const lostFraction = "a number loses its fraction in a reply: return a text, as string.format('%%.17g', ...) makes it"

func (j *judge) returns(s *parse.ReturnStmt, first flow.Value) {
	results := j.C.S.Header.Returns
	switch {
	case j.Depth > 0, j.C.S.Raw && len(s.Values) == 0:
	case j.C.S.Raw:
		j.rawReturn(first, s.Values)
	case len(results) == 0:
	case len(s.Values) == 0:
		j.nothing(s.P)
	case len(results) == 1:
		j.use(first)
		j.result(results[0], first, s.Values[0].Pos())
	default:
		j.tuple(results, first, s.Values[0].Pos())
	}
}

func (j *judge) gets(name string, e *parse.CallExpr, args []flow.Value) {
	for _, v := range args {
		j.use(v)
	}
	switch v := args[0]; name {
	case "tostring":
		j.shown(v, e.Args[0].Pos())
	case "string.format":
		j.formatted(e, args)
	case "unpack":
		j.unpacked(e.Args, v)
	case "cjson.encode":
		j.jsonOf(e.Args[0], v)
		j.digits(e.Args[0])
	default:
		if f := j.C.Flow.Bodies[parse.VarOf(e.Fn)]; f != nil {
			j.passes(f, e, args)
		}
	}
}

// hash finds a reply that is not what a result with the fields of a hash is read from.
func (j *judge) hash(r *parse.Result, v flow.Value, pos parse.Pos) {
	h := r.Type.Hash
	call, _ := j.C.CommandCall(v.From)
	shown, want := strings.ToUpper(call.Names[0]), map[bool]string{true: "HMGET", false: "HGETALL"}[h.Listed]
	switch key := j.C.DeclaredKey(call.Words[1]); {
	case r.Type.List:
		j.find(pos, Result, "this is one hash, and %s", declares(r))
	case shown != want:
		j.find(pos, Result, "this is the reply of %s, and %s: write %s for HGETALL, and %s(a,b) for HMGET",
			shown, declares(r), h.Key.Name, h.Key.Name)
	case key != nil && key != h.Key:
		j.find(pos, Result, "this is the hash %s, and %s", key.Name, declares(r))
	case h.Listed && !call.Open && !slices.EqualFunc(call.Words[2:], h.Names(), func(word parse.Expr, name string) bool {
		literal, ok := j.C.Origin(word).(*parse.StringExpr)
		return !ok || literal.Value == name || !slices.Contains(h.Names(), literal.Value)
	}):
		j.find(pos, Result, "these are other fields, or in another order, than %s is declared: %s", r.Name, strings.TrimPrefix(declares(r), r.Name+" is declared "))
	}
}

// skips finds "if x then list[i] = y end" in a list that the script returns, where nothing else is put into the list.
func (j *judge) skips(b *parse.Block) {
	for _, stmt := range b.Stmts {
		s, ok := stmt.(*parse.IfStmt)
		if !ok || s.Else != nil || j.Depth > 0 {
			continue
		}
		for _, block := range s.Blocks {
			for _, stmt := range block.Stmts {
				if put, ok := stmt.(*parse.AssignStmt); ok && j.skipped(put.Targets[0], s.Conds) {
					j.find(put.Targets[0].Pos(), Result, "nothing is put here if the condition is false, which ends the array: put false in its place")
				}
			}
		}
	}
}

// skipped reports whether an element of a list that is returned may be left out, by a condition that is not about its index.
func (j *judge) skipped(e parse.Expr, conds []parse.Expr) bool {
	t, ok := e.(*parse.IndexExpr)
	if !ok || !j.C.Flow.Replied[parse.VarOf(t.X)] {
		return false
	}
	x := parse.VarOf(t.X)
	i, _ := parse.Added(t.Key)
	made, ok := j.C.Origin(t.X).(*parse.TableExpr)
	return ok && len(made.Fields) == 0 && j.C.Flow.IsIndex(t.Key) && len(j.C.Flow.Stores[x]) == 1 &&
		!slices.ContainsFunc(conds, func(e parse.Expr) bool { return parse.Mentions(e, parse.VarOf(i)) })
}

// hole finds an element of a reply that is nil, or certainly may be: what follows it is cut off.
func (j *judge) hole(item flow.Value, pos parse.Pos) bool {
	switch {
	case item.Is == flow.IsNil:
		// Behind a second condition, which may be about the first, it may never be.
		j.verdict(len(j.Conds) == 0 && j.State.Turns() == 1, pos, Result, "this is nil, which ends the array: put false in its place")
		return true
	case item.Is&flow.IsNil != 0 && j.MayMiss(item):
		j.may(pos, Result, "this may be nil, which ends the array: put false in its place")
		return true
	}
	return false
}
