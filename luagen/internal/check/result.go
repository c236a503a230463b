package check

import (
	"regexp"
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// rawReturn checks what a raw script returns: only a nil before a value in a table is certainly wrong.
func (j *judge) rawReturn(v value, list []parse.Expr) {
	if len(list) == 0 {
		return
	}
	table, ok := j.c.origin(list[0]).(*parse.TableExpr)
	if ok && !j.c.resp3 {
		j.namesIn(table)
	}
	if !j.c.resp3 {
		j.nameless(list[0], list[0].Pos())
	}
	if x := varOf(list[0]); ok && x != nil && len(x.Reads) == 1 { // It was made before, and is only returned.
		v = j.peek(table)
	}
	if !v.closed && len(list) == 1 {
		j.rawResult(1, 1, v, list[0])
	} else if v.closed && ok {
		j.rawElements(table.Fields, v)
	}
}

// namesIn finds the first field with a name in a table that is returned. Of those a reply has one alone, which says its kind.
func (j *judge) namesIn(table *parse.TableExpr) {
	for _, f := range table.Fields {
		name, ok := f.Key.(*parse.StringExpr)
		if ok && (len(table.Fields) > 1 || !slices.Contains([]string{"ok", "err", "double", "map", "set", "big_number"}, name.Value)) &&
			name.Value != "err" && name.Value != "format" && name.Value != "string" {
			j.find(name.Pos(), Result, "a reply has no names, so this is lost: return a list, or what cjson.encode makes of the table")
			return
		}
	}
}

// rawElements checks the elements of a table that a raw script returns.
func (j *judge) rawElements(fields []parse.Field, v value) {
	for i, item := range v.items {
		j.rawResult(len(v.items), i+1, item, fields[i].Value)
		last := i+1 == len(v.items) || v.items[i+1].is == isNil
		short := item.is&^isNumber == isNil && j.inReturn(len(v.items), i+1, j.defaulted)
		if unset := j.unset(fields[i].Value); !last || i > 0 && (unset || short) {
			j.hole(item, v.places[i])
		}
	}
}

// rawResult checks one of the results of a raw script, of which another return may have the text, or in another unit.
func (j *judge) rawResult(of, i int, v value, e parse.Expr) {
	place := root{"result " + itoa(i) + " of " + itoa(of), 1}
	j.meet(e.Pos(), value{number: number{roots: []root{place}}}, v)
	j.rounded(e)
	if v.surely(isNumber) && j.fraction(e, v) && !j.called(e, restName) {
		j.may(e.Pos(), Result, lostFraction)
	}
}

// restName is of numbers of which a script returns the whole part.
var restName = regexp.MustCompile(`\b(?:remaining|tokens?|count|cost|bucket|slots?)$`)

// defaulted reports whether an expression is a constant, or has a constant in the place of what is missing.
func (j *judge) defaulted(e parse.Expr) bool {
	return constantKind(e) == isNumber || j.c.flow.within(e, func(e parse.Expr) bool {
		b, ok := e.(*parse.BinaryExpr)
		return ok && b.Op == "or" && constantKind(b.R)&(isNumber|isText) != 0
	})
}

// inReturn reports whether something is so of the i-th of as many elements that a script returns.
func (j *judge) inReturn(of, i int, is func(parse.Expr) bool) bool {
	returned := j.c.flow.returned[nil]
	return slices.ContainsFunc(returned[:min(len(returned), 50)], func(e parse.Expr) bool {
		table, ok := e.(*parse.TableExpr)
		return ok && len(table.Fields) == of && is(table.Fields[i-1].Value)
	})
}

// unset reports whether an expression is a name that is made without a value, and never set to nil: that it is nil is not meant.
func (j *judge) unset(e parse.Expr) bool {
	x := varOf(e)
	return x != nil && x.Decl == nil && len(x.Writes) > 0 && len(x.Writes) == len(j.c.flow.sources[x]) && !slices.ContainsFunc(j.c.flow.sources[x], func(s source) bool {
		return s.expr == nil || isFalsy(s.expr)
	})
}

// nothing finds a path that returns nothing.
func (j *judge) nothing(pos parse.Pos) {
	results := j.c.s.Header.Returns
	switch {
	case len(results) == 0, j.c.s.Header.None != nil:
	case len(results) > 1:
		j.find(pos, Result, "a path ends here without the results %s and so on", results[0].Name)
	case !mayBeNil(results[0].Type):
		j.find(pos, Result, "a path ends here without a result: %s", declares(results[0]))
	}
}

func mayBeNil(t parse.Type) bool { return (t.Optional || t.Name == "bool") && !t.List }

func typeText(t parse.Type) string {
	if t.List {
		return t.String() + "[]"
	}
	return t.String()
}

// declares says of which type a result is.
func declares(r *parse.Result) string { return r.Name + " is declared " + typeText(r.Type) }

// tuple checks the value of a script that returns several results.
func (j *judge) tuple(results []*parse.Result, v value, pos parse.Pos) {
	switch {
	case v.is == isFailed, v.is&^absent == 0 && j.c.s.Header.None != nil:
		return
	case v.is&(isTable|isFailed) == 0:
		j.find(pos, Result, "this is %s, and %d results are a table", v.is, len(results))
		return
	case v.is != isTable || !v.closed:
		return
	case len(v.items) != len(results):
		j.find(pos, Result, "this is a table of %d, and there are %d results", len(v.items),
			len(results))
		return
	}
	for i, item := range v.items {
		if !j.hole(item, v.places[i]) {
			j.result(results[i], item, v.places[i])
		}
	}
}

// accepted has, by the name of a type, the kinds of replies from which the wrapper reads a result.
var accepted = map[string]kinds{
	"string": isText | isNumber | isTrueValue | isStatus,
	"bytes":  isText | isNumber | isTrueValue | isStatus,
	"bool":   isNumber | boolean | isNil,
	"scores": isTable,
}

func accepts(t parse.Type) kinds {
	if t.List || t.Hash != nil {
		return isTable
	}
	if k, ok := accepted[t.Name]; ok {
		return k
	}
	return isText | isNumber | isTrueValue
}

// result checks one result of a script.
func (j *judge) result(r *parse.Result, v value, pos parse.Pos) {
	rest := v.is &^ (absent | isFailed)
	j.meet(pos, value{number: number{unit: units[r.Type.Name]}}, v)
	switch {
	case v.is&^absent == 0 && !mayBeNil(r.Type):
		j.find(pos, Result, "this is nil for the wrapper, and %s", declares(r))
	case rest != 0 && rest&accepts(r.Type) == 0:
		j.find(pos, Result, "this is %s, and %s%s", rest, declares(r), remedy(rest, r.Type))
	case v.is&^isFailed == boolean && !mayBeNil(r.Type):
		j.find(pos, Result, "false arrives as nil, and %s: write (...) and 1 or 0", declares(r))
	case rest == isText && (v.word && numeric(r.Type) || v.frac && numeric(r.Type) && r.Type.Name != "float"):
		j.find(pos, Result, "this text is no whole number, and %s", declares(r))
	case r.Type.Name == "scores" && v.elem != nil && v.elem.role == aMember:
		j.find(pos, Result, "these are members without their scores, and %s: write WITHSCORES", declares(r))
	case r.Type.Hash != nil && v.from != nil:
		j.hash(r, v, pos)
	case r.Type.List && v.is == isTable:
		j.elementsOf(r, v, pos)
	case rest == isNumber:
		j.sum(v, r)
		j.cut(r, v, pos)
	}
}

// remedy says what to write for a status reply that is declared a bool.
func remedy(k kinds, t parse.Type) string {
	if k == isStatus && t.Name == "bool" {
		return "; write (...) and 1 or 0"
	}
	return ""
}

// numeric reports whether a wrapper reads a number.
func numeric(t parse.Type) bool { return accepts(t) == isText|isNumber|isTrueValue }

// elementsOf checks the elements of a list that is returned.
func (j *judge) elementsOf(r *parse.Result, v value, pos parse.Pos) {
	element := *r
	element.Type.List = false
	if v.elem != nil && v.elem.is == isText|isFalseValue && !mayBeNil(element.Type) {
		j.find(pos, Result, "an element of this is nil if there is none, and %s: write %s?[]",
			declares(r), element.Type)
	}
	for i, item := range v.items {
		if i < len(v.places) && !j.hole(item, v.places[i]) {
			j.result(&element, item, v.places[i])
		}
	}
}

const lostFraction = "a number loses its fraction in a reply: return a text, as string.format('%%.17g', ...) makes it"

// cut finds a number whose fraction does not arrive.
func (j *judge) cut(r *parse.Result, v value, pos parse.Pos) {
	if r.Type.Name == "float" && !v.whole || r.Type.Name != "bool" && v.frac {
		j.may(pos, Result, lostFraction)
	}
}

// errorReply finds redis.error_reply('CODE'): without a message behind it that is no code.
func (j *judge) errorReply(e *parse.CallExpr) {
	s, ok := j.c.origin(e.Args[0]).(*parse.StringExpr)
	if ok && errorCode.MatchString(s.Value) {
		j.find(e.Args[0].Pos(), Result, "a code without a message arrives as ERR %s: "+
			"write a message behind it", strings.TrimPrefix(s.Value, "-"))
	}
}

var errorCode = regexp.MustCompile(`^-?[A-Z][A-Z0-9_]*$`)

// returns checks a return statement.
func (j *judge) returns(s *parse.ReturnStmt, first value) {
	results := j.c.s.Header.Returns
	switch {
	case j.depth > 0:
	case j.c.s.Raw:
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

// gets checks what a function of the server gets.
func (j *judge) gets(name string, e *parse.CallExpr, args []value) {
	for _, v := range args {
		j.use(v)
	}
	switch v := args[0]; name {
	case "ipairs", "pairs", "table.concat":
		if name == "table.concat" {
			j.inText(v)
		}
		if v.surely(isText) || v.surely(isNumber) || v.elem != nil && v.elem.is == isText|isTable {
			j.find(e.Args[0].Pos(), Nil, "this is no list of texts: the reply of a scan is a cursor and a list, and that of others a text")
		}
	case "redis.error_reply":
		j.errorReply(e)
	case "tostring":
		if number, ok := unparen(e.Args[0]).(*parse.CallExpr); ok && j.passed(number, "tonumber") != nil && !j.c.flow.careful[e] {
			j.find(e.P, Precision, "this keeps 14 digits of a text that may have more: leave it a text, or write string.format('%%.0f', ...)")
		} else {
			j.shown(v, e.Args[0].Pos())
		}
	case "unpack":
		j.unpacked(e.Args, v)
	case "cjson.encode":
		j.jsonOf(e.Args[0], v)
		j.inText(v)
	}
}
