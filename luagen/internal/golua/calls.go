package golua

import (
	"go/ast"
	"go/types"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// Functions that get a script, by name: what they belong to is not known without types. Builders are as in
// client.B().Eval().Script(...).
var makers, evals, senders, builders = parse.Words("makers"), parse.Words("evals"), parse.Words("senders"), parse.Words("builders")

var readOnly = regexp.MustCompile(`ReadOnly|(?i:\beval_?ro\b)`)
var client = regexp.MustCompile(`(?i)redis|valkey|rueidis|radix`)

// calls notes which texts of a file are passed to a client.
func (r *reader) calls(f *ast.File) {
	imports := slices.ContainsFunc(f.Imports, func(i *ast.ImportSpec) bool { return client.MatchString(i.Path.Value) })
	for _, d := range f.Decls {
		ast.Inspect(d, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if ok && len(call.Args) > 0 {
				r.call(call, !imports || r.others(call, d))
				r.passes(call, d)
				r.scattered(call)
			}
			if ok && imports {
				r.faults(call, d)
			}
			return true
		})
	}
}

// others reports whether a call is of a function of a package that is no client, or forwards what its function gets: the
// callers of that pass the script.
func (r *reader) others(call *ast.CallExpr, within ast.Decl) bool {
	fn, ok := within.(*ast.FuncDecl)
	if ok && (slices.Contains(makers, fn.Name.Name) || slices.Contains(evals, fn.Name.Name)) {
		return true
	}
	name, _ := before(call).(*ast.Ident)
	imported, ok := r.Uses[name].(*types.PkgName)
	return ok && !client.MatchString(imported.Imported().Path())
}

// call notes the script that a call passes. Only in a file that imports a client every call is meant: in others seen is
// true.
func (r *reader) call(call *ast.CallExpr, seen bool) {
	passed := scripts(call)
	var unknown ast.Expr
	eval := slices.Contains(evals, lastName(call.Fun))
	for i, e := range passed {
		origins := r.origins(e)
		lua, known := false, false
		for _, origin := range origins {
			t, ok := r.text(origin)
			known, lua = known || ok, lua || isLua(t.bytes)
		}
		switch _, literal := e.(*ast.BasicLit); {
		case lua:
			r.send(call, e, origins, seen)
			return
		case known:
			seen = true
		case !literal && r.looksLikeText(e, unknown == nil && (!eval || i == len(passed)-1)):
			unknown = e
		}
	}
	if unknown != nil {
		r.send(call, unknown, r.origins(unknown), seen)
	}
}

// send notes that a client gets the texts which an expression may be.
func (r *reader) send(call *ast.CallExpr, e ast.Expr, origins []ast.Expr, seen bool) {
	for _, origin := range origins {
		c := r.of[origin]
		t, known := r.text(origin)
		if !known && !isLua(t.bytes) && seen {
			continue
		}
		if c == nil {
			c = r.add(origin, t)
		}
		from, to := r.position(call.Pos()), r.position(e.Pos())
		c.evaled = c.evaled || !slices.Contains(makers, lastName(call.Fun)) && !strings.HasSuffix(to.Filename, "_test.go")
		c.sent, c.in = true, append(c.in, to.Filename)
		c.readOnly = c.readOnly || readOnly.Match(r.sources[to.Filename][from.Offset:to.Offset])
	}
}

// scripts returns the arguments of a call that may be a script.
func scripts(call *ast.CallExpr) []ast.Expr {
	name := lastName(call.Fun)
	switch {
	case slices.Contains(makers, name), name == "Script" && slices.Contains(builders, lastName(before(call))):
		return call.Args // redigo's has the number of keys before it
	case slices.Contains(evals, name):
		return call.Args[:min(len(call.Args), 2)] // Before it there may be a context.
	case slices.Contains(senders, name):
		return behindEval(call.Args)
	}
	return nil
}

// before returns what stands before the dot and the name of a function that is called, nil if there is no dot.
func before(call *ast.CallExpr) ast.Expr {
	if method, ok := call.Fun.(*ast.SelectorExpr); ok {
		return method.X
	}
	return nil
}

// lastName returns the name that an expression is, or ends in, or what it calls; else "".
func lastName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.CallExpr:
		return lastName(e.Fun)
	}
	return ""
}

var scriptName = regexp.MustCompile(`(?i)script|lua|src`)

// looksLikeText reports whether an expression without a known value may be a text. Of packages that are not read the types
// are not known.
func (r *reader) looksLikeText(e ast.Expr, place bool) bool {
	if t := r.TypeOf(e); t != nil && t != types.Typ[types.Invalid] {
		return t.Underlying().String() == "string" || t == types.Typ[types.UntypedString]
	}
	return place || scriptName.MatchString(lastName(e))
}

// behindEval returns the argument behind "EVAL", or "SCRIPT", "LOAD".
func behindEval(args []ast.Expr) []ast.Expr {
	last := ""
	for i, e := range args[:len(args)-1] {
		word := ""
		if lit, ok := e.(*ast.BasicLit); ok {
			word, _ = strconv.Unquote(lit.Value)
		}
		word = strings.ToUpper(word)
		if word == "EVAL" || word == "EVAL_RO" || word == "LOAD" && last == "SCRIPT" {
			return args[i+1 : i+2]
		}
		last = word
	}
	return nil
}

// generated are the files that luagen wrote: their scripts have files of their own.
var generated = regexp.MustCompile(`^// Code generated by luagen\b`)

// take adds a text that calls commands. It reports whether all of it is known.
func (r *reader) take(n ast.Node) bool {
	switch e := n.(type) {
	case *ast.BasicLit, *ast.BinaryExpr, *ast.CallExpr:
		t, known := r.text(e.(ast.Expr))
		if calling.Match(t.bytes) {
			r.add(e.(ast.Expr), t)
		}
		return known
	}
	return false
}
