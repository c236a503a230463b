package golua

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
)

// Call is a call that passes a script keys and arguments.
type Call struct {
	At         token.Position
	Keys, Args []Passed // nil if they are not known
}

// Passed is a key or an argument.
type Passed struct {
	At   token.Position
	Nano bool // it arrives in nanoseconds
}

// passes notes what a call passes to scripts: to those whose method it calls, or that are among its arguments.
func (r *reader) passes(call *ast.CallExpr) {
	scripts, keys, args := r.parts(call)
	passes := Call{At: r.position(call.Pos()), Keys: r.all(keys), Args: r.all(args)}
	for _, e := range scripts {
		for _, origin := range r.origins(e) {
			if c := r.of[origin]; c != nil {
				c.calls = append(c.calls, passes)
			}
		}
	}
}

// parts returns what may be the scripts of a call, and what it passes to them, nil what is not known. The keys are its first
// list of texts; they are not known where something before them is not, nor where a client wants their number.
func (r *reader) parts(call *ast.CallExpr) (scripts, keys, args []ast.Expr) {
	if method, ok := call.Fun.(*ast.SelectorExpr); ok {
		scripts = append(behindEval(call.Args), method.X)
	}
	fn, _ := r.TypeOf(call.Fun).(*types.Signature)
	for i, e := range call.Args {
		t := r.TypeOf(e)
		if fn != nil {
			t = fn.Params().At(min(i, fn.Params().Len()-1)).Type()
		}
		unknown := t == nil || t == types.Typ[types.Invalid]
		if unknown && i > 1 || t == types.Typ[types.UntypedNil] || !unknown && t.String() == "[]string" {
			if v, _ := r.own(e).(*types.Var); v != nil && v.Kind() == types.ParamVar && r.values[v] != nil {
				return nil, nil, nil // The calls that give this parameter its values count.
			}
			return append(scripts, call.Args[max(i-1, 0)]), r.list(e), r.from(call, i+1)
		}
	}
	if fn == nil || !fn.Variadic() {
		return nil, nil, nil
	}
	return scripts, nil, nil
}

// from returns the arguments of a call from one on, or the elements of a list that stands there.
func (r *reader) from(call *ast.CallExpr, i int) []ast.Expr {
	fn, _ := r.TypeOf(call.Fun).(*types.Signature)
	variadic := fn == nil || fn.Variadic() && fn.Params().Len() <= i+1
	switch {
	case call.Ellipsis.IsValid(), !variadic && i == len(call.Args)-1:
		return r.list(call.Args[len(call.Args)-1])
	case !variadic || i > len(call.Args):
		return nil
	}
	return append([]ast.Expr{}, call.Args[i:]...)
}

// list returns the elements of a list, nil if they are not known.
func (r *reader) list(e ast.Expr) []ast.Expr {
	if lit, ok := ast.Unparen(e).(*ast.CompositeLit); ok {
		return append([]ast.Expr{}, lit.Elts...)
	}
	if call, ok := e.(*ast.CallExpr); ok && lastName(call) == "append" {
		if list, more := r.list(call.Args[0]), r.from(call, 1); list != nil && more != nil {
			return append(list, more...)
		}
	}
	given, object := r.given(e)
	if v, ok := object.(*types.Var); len(given) != 1 || given[0] == nil || r.asked[object] || ok && (v.Kind() == types.ParamVar || v.IsField()) {
		return nil
	}
	r.asked[object] = true
	defer delete(r.asked, object)
	return r.list(given[0])
}

// all describes what is passed.
func (r *reader) all(list []ast.Expr) []Passed {
	if list == nil {
		return nil
	}
	all := make([]Passed, len(list))
	for i, e := range list {
		nano := !slices.ContainsFunc(r.origins(e), func(e ast.Expr) bool { return !r.isTime(e) })
		all[i] = Passed{At: r.position(e.Pos()), Nano: nano}
	}
	return all
}

// isTime reports whether a value is in nanoseconds: a time.Duration that is not divided by one.
func (r *reader) isTime(e ast.Expr) bool {
	if b, ok := e.(*ast.BinaryExpr); ok && b.Op == token.QUO {
		n := r.Types[b.Y].Value
		return n != nil && constant.Compare(n, token.LSS, constant.MakeInt64(1e6)) && r.isTime(b.X)
	}
	return types.TypeString(r.TypeOf(e), nil) == "time.Duration" || lastName(e) == "Nanoseconds"
}
