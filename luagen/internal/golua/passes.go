package golua

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Call is a call that passes a script keys and arguments.
type Call struct {
	At         token.Position
	Keys, Args []Passed       // nil if they are not known
	NoNil      bool           // nothing asks for the error of a nil reply
	Counted    token.Position // where the number of its keys is written, if it is
	OnCluster  bool           // its client may be one of a cluster
	Again      bool           // the client, or a loop, sends it again if there is no reply
}

// Passed is a key or an argument.
type Passed struct {
	At   token.Position
	As   string // it arrives as nanoseconds, float64, int or int64 of such a number, bool, time.Time, list, list of others, or refused
	Unit string // in what it is a time: the method that made it
	Code string // its expression, and those from which its value comes
}

// passes notes what a call passes to scripts: to those whose method it calls, or that are among its arguments.
func (r *reader) passes(call *ast.CallExpr, within ast.Decl) {
	scripts, keys, args := r.parts(call)
	for _, e := range scripts {
		for _, origin := range r.origins(e) {
			if c := r.of[origin]; c != nil {
				of := method.FindString(fmt.Sprint(r.own(call.Fun)))
				noNil := client.MatchString(of) && !slices.ContainsFunc(slices.Collect(maps.Values(r.sources)), asksNil.Match)
				_, counted := r.counted(call)
				c.calls = append(c.calls, Call{r.position(call.Pos()), r.all(keys, ""), r.all(args, of), noNil, counted, r.has(cluster) || anyNodes.MatchString(of), r.again(call, within)})
			}
		}
	}
}

// again reports whether the client of a call, or the loop around it, tries it again.
func (r *reader) again(call *ast.CallExpr, within ast.Decl) (again bool) {
	ast.Inspect(within, func(n ast.Node) bool {
		if n == nil || n.Pos() > call.Pos() || call.End() > n.End() {
			return false
		}
		_, loops := n.(*ast.ForStmt)
		outer, calls := n.(*ast.CallExpr)
		again = again || loops && tries.MatchString(r.code(n)) || calls && retrying.MatchString(lastName(outer.Fun))
		return true
	})
	return (again || r.has(resends)) && !strings.HasSuffix(r.file(call.Pos()), "_test.go")
}

// parts returns what may be the scripts of a call, and what it passes to them, nil what is not known. The keys are its first
// list of texts; they are not known where something before them is not, nor where a client wants their number.
func (r *reader) parts(call *ast.CallExpr) (scripts, keys, args []ast.Expr) {
	if of := before(call); of != nil {
		scripts = append(behindEval(call.Args), of)
	}
	fn, _ := r.TypeOf(call.Fun).(*types.Signature)
	for i, e := range call.Args {
		t := r.TypeOf(e)
		if fn != nil && fn.Params().Len() > 0 {
			t = fn.Params().At(min(i, fn.Params().Len()-1)).Type()
		}
		unknown := t == nil || t == types.Typ[types.Invalid]
		if unknown && i > 1 || t == types.Typ[types.UntypedNil] || !unknown && t.String() == "[]string" {
			if v, _ := r.own(e).(*types.Var); v != nil && v.Kind() == types.ParamVar && r.values[v] != nil {
				return nil, nil, nil // The calls that give this parameter its values count.
			}
			return append(scripts, call.Args[max(i-1, 0)]), r.list(e, false), r.from(call, fn, i+1)
		}
	}
	if fn == nil || !fn.Variadic() {
		return nil, nil, nil
	}
	first := fn.Params().Len() - 1
	if n, _ := r.counted(call); n >= 0 && first+n <= len(call.Args) {
		return scripts, append([]ast.Expr{}, call.Args[first:first+n]...), append([]ast.Expr{}, call.Args[first+n:]...)
	}
	return scripts, nil, nil
}

// counted returns how many keys the script of a call takes, and where redigo has that written, or -1.
func (r *reader) counted(call *ast.CallExpr) (n int, at token.Position) {
	given, _ := r.given(before(call))
	if len(given) != 1 || call.Ellipsis.IsValid() {
		return -1, at
	}
	if made, ok := given[0].(*ast.CallExpr); ok && lastName(made) == "NewScript" && len(made.Args) == 2 {
		if n, err := strconv.Atoi(r.code(made.Args[0])); err == nil {
			return n, r.position(made.Args[0].Pos())
		}
	}
	return -1, at
}

// from returns the arguments of a call of a function from one on, or the elements of a list that stands there.
func (r *reader) from(call *ast.CallExpr, fn *types.Signature, i int) []ast.Expr {
	variadic := fn == nil || fn.Variadic() && fn.Params().Len() <= i+1
	switch {
	case call.Ellipsis.IsValid(), !variadic && i == len(call.Args)-1:
		return r.list(call.Args[len(call.Args)-1], true)
	case !variadic || i > len(call.Args):
		return nil
	}
	return append([]ast.Expr{}, call.Args[i:]...)
}

// list returns the elements of a list, nil if they are not known; with grows also those that are appended to it, each once.
func (r *reader) list(e ast.Expr, grows bool) (all []ast.Expr) {
	if lit, ok := ast.Unparen(e).(*ast.CompositeLit); ok {
		return append([]ast.Expr{}, lit.Elts...)
	}
	given, object := r.given(e)
	if v, ok := object.(*types.Var); r.asked[object] || ok && (v.Kind() == types.ParamVar || v.IsField()) {
		return nil
	}
	r.asked[object] = true
	defer delete(r.asked, object)
	for _, value := range given {
		lit, _ := value.(*ast.CompositeLit)
		switch call, _ := value.(*ast.CallExpr); {
		case grows && call != nil && lastName(call) == "make":
		case grows && call != nil && lastName(call) == "append" && !call.Ellipsis.IsValid() && r.own(call.Args[0]) == object:
			all = append(all, call.Args[1:]...)
		case grows && lit != nil:
			all = append(all, lit.Elts...)
		case len(given) != 1 || value == nil:
			return nil
		default:
			return r.list(value, grows)
		}
	}
	return all
}

var method = regexp.MustCompile(`^func \(\*?[\w.-]+/[^)]*`) // of a client
var asksNil = regexp.MustCompile(`\b(?:Err)?Nil\b|Is(?:Redis|Valkey)Nil`)

// all describes what is passed to a function.
func (r *reader) all(list []ast.Expr, of string) []Passed {
	if list == nil {
		return nil
	}
	all := make([]Passed, len(list))
	for i, e := range list {
		at := r.position(e.Pos())
		if call, ok := e.(*ast.CallExpr); ok && slices.Contains([]string{"FormatInt", "Itoa"}, lastName(call)) {
			e = call.Args[0]
		}
		origins := r.origins(e)
		all[i] = Passed{at, r.sent(e, of), "", ""}
		if len(origins) == 1 && client.MatchString(of) {
			all[i].Unit = lastName(origins[0])
		}
		for _, from := range append(origins, e) {
			all[i].Code += " " + r.code(from)
		}
	}
	return all
}

// code returns the source of a node.
func (r *reader) code(n ast.Node) string {
	at, end := r.position(n.Pos()), r.position(n.End())
	return string(r.sources[at.Filename][at.Offset:end.Offset])
}

// sent returns as what a value arrives that a function gets.
func (r *reader) sent(e ast.Expr, of string) string {
	from := r.origins(e)
	if len(from) == 0 { // Such as a parameter of a function that calls itself.
		from = []ast.Expr{e}
	}
	switch t := r.typeOf(e); {
	case !slices.ContainsFunc(from, func(e ast.Expr) bool { return !r.isTime(e) }):
		return "nanoseconds"
	case client.MatchString(of) && (t == "bool" || t == "time.Time" || slices.Contains([]string{"float64", "int", "int64"}, t) && slices.ContainsFunc(from, r.isFraction)):
		return t
	case printing.MatchString(of) && (strings.HasPrefix(t, "map[") || strings.HasPrefix(t, "[]") && t != "[]byte" && t != "[]uint8"):
		if strings.Contains(of, "go-redis") && flattened.MatchString(t) {
			return "list"
		}
		return "list of others"
	case strings.Contains(of, "go-redis") && refused(r.TypeOf(e)):
		return "refused"
	}
	return ""
}

var printing = regexp.MustCompile(`go-redis|redigo`)                                   // radix takes lists apart
var flattened = regexp.MustCompile(`^(?:\[\](?:string|any|interface *\{\})|map\[.*)$`) // by go-redis, if it is the only argument

// refused reports whether go-redis refuses a type of the package, as it has a name, and neither MarshalBinary nor fields for it.
func refused(t types.Type) bool {
	named, ok := t.(*types.Named)
	return ok && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == "" && !types.IsInterface(t) && !strings.Contains(t.Underlying().String(), "redis:") &&
		types.NewMethodSet(types.NewPointer(t)).Lookup(named.Obj().Pkg(), "MarshalBinary") == nil
}

// isFraction reports whether a number may have a fraction: it is written with one, or it is what Seconds, Minutes or Hours
// gives, unless the code writes out the time, in whole seconds.
func (r *reader) isFraction(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok || !slices.Contains([]string{"Seconds", "Minutes", "Hours"}, lastName(call)) {
		return r.Types[e].Value != nil && constant.ToInt(r.Types[e].Value).Kind() != constant.Int
	}
	method, ok := call.Fun.(*ast.SelectorExpr)
	return ok && slices.ContainsFunc(r.origins(method.X), func(e ast.Expr) bool { return !strings.HasSuffix(fmt.Sprint(r.Types[e].Value), "000000000") })
}

// isTime reports whether a value is in nanoseconds: a time.Duration that is not divided by one.
func (r *reader) isTime(e ast.Expr) bool {
	if b, ok := e.(*ast.BinaryExpr); ok && b.Op == token.QUO {
		n := r.Types[b.Y].Value
		return n != nil && constant.Compare(n, token.LSS, constant.MakeInt64(1e6)) && r.isTime(b.X)
	}
	return r.typeOf(e) == "time.Duration" || lastName(e) == "Nanoseconds"
}
