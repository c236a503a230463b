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

// Functions that get a script, by name: what they belong to is not known without types.
var (
	makers = []string{
		"NewScript", "NewScriptReadOnly", "NewLuaScript", "NewLuaScriptReadOnly", "NewLuaScriptNoSha",
		"NewLuaScriptReadOnlyNoSha", "NewLuaScriptRetryable",
	}
	evals   = []string{"Eval", "EvalCtx", "EvalContext", "EvalRO", "ScriptLoad", "ScriptLoadCtx"}
	senders = []string{"Do", "DoContext", "DoCtx", "Send"}
)

var readOnly = regexp.MustCompile(`ReadOnly|(?i:\beval_?ro\b)`)

// scan finds the scripts of a package.
func (p *pack) scan(folder *Folder) {
	for _, f := range p.files {
		imports := slices.ContainsFunc(f.Imports, func(i *ast.ImportSpec) bool { return relevant.MatchString(i.Path.Value) })
		for _, d := range f.Decls {
			p.within = d
			ast.Inspect(d, func(n ast.Node) bool {
				p.label(n)
				if call, ok := n.(*ast.CallExpr); ok {
					p.call(folder, call, imports)
				}
				return true
			})
		}
	}
}

// others reports whether a call is of a function of a package that is no client, or forwards what its function gets: the
// callers of that pass the script.
func (p *pack) others(call *ast.CallExpr) bool {
	fn, ok := p.within.(*ast.FuncDecl)
	if ok && (slices.Contains(makers, fn.Name.Name) || slices.Contains(evals, fn.Name.Name)) {
		return true
	}
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	name, _ := method.X.(*ast.Ident)
	imported, ok := p.info.Uses[name].(*types.PkgName)
	return ok && !relevant.MatchString(imported.Imported().Path())
}

// call notes the script that a call passes. Only in a file that imports a client every call is meant.
func (p *pack) call(folder *Folder, call *ast.CallExpr, imports bool) {
	passed := scripts(call)
	if len(passed) == 0 {
		return
	}
	p.resolve()
	seen := !imports || p.others(call)
	var unknown ast.Expr
	eval := slices.Contains(evals, lastName(call.Fun))
	for i, e := range passed {
		t, known := p.text(e)
		switch _, literal := e.(*ast.BasicLit); {
		case known && p.script(folder, call, e, t):
			return
		case known:
			seen = true
		case !literal && p.looksLikeText(e, unknown == nil && (!eval || i == len(passed)-1 && !p.isScript(call.Fun))):
			unknown = e
		}
	}
	if !seen && unknown != nil {
		folder.Unseen = append(folder.Unseen, p.set.PositionFor(unknown.Pos(), false))
	}
}

// script adds a text, if it is a script.
func (p *pack) script(folder *Folder, call *ast.CallExpr, e ast.Expr, t text) bool {
	if t.parts == 1 && len(t.of) == 1 {
		folder.Files = append(folder.Files, t.of[0])
		return true
	}
	if !parse.ForServer(t.bytes) {
		return false
	}
	name, from, to := p.nameOf(call, e), p.set.PositionFor(call.Pos(), false), p.set.PositionFor(e.Pos(), false)
	script := &Script{
		Call: to, Name: name, Doc: p.docs[name], Of: t.of, set: p.set,
		ReadOnly: readOnly.Match(p.sources[to.Filename][from.Offset:to.Offset]),
	}
	src, at := parse.Ends(t.bytes)
	script.Text = src
	for _, i := range at {
		script.at = append(script.at, t.at[i])
	}
	folder.Scripts = append(folder.Scripts, script)
	return true
}

// label notes what the values of a statement are called.
func (p *pack) label(n ast.Node) {
	switch n := n.(type) {
	case *ast.ValueSpec:
		for i, v := range n.Values {
			p.labels[v] = n.Names[min(i, len(n.Names)-1)].Name
		}
	case *ast.AssignStmt:
		for i, v := range n.Rhs {
			p.labels[v] = lastName(n.Lhs[min(i, len(n.Lhs)-1)])
		}
	case *ast.KeyValueExpr:
		p.labels[n.Value] = lastName(n.Key)
	}
}

// nameOf returns what a script may be called.
func (p *pack) nameOf(call *ast.CallExpr, script ast.Expr) string {
	fn, _ := p.within.(*ast.FuncDecl)
	switch name := lastName(script); {
	case name != "":
		return name
	case p.labels[call] != "" && p.labels[call] != "_":
		return p.labels[call]
	case fn != nil:
		return fn.Name.Name
	}
	return "script"
}

// scripts returns the arguments of a call that may be a script.
func scripts(call *ast.CallExpr) []ast.Expr {
	name := lastName(call.Fun)
	switch {
	case len(call.Args) == 0:
	case slices.Contains(makers, name), name == "Script" && builds(call.Fun):
		return call.Args // redigo's has the number of keys before it
	case slices.Contains(evals, name):
		return call.Args[:min(len(call.Args), 2)] // Before it there may be a context.
	case slices.Contains(senders, name):
		return behindEval(call.Args)
	}
	return nil
}

// lastName returns the name that an expression is, or ends in; else "".
func lastName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

var scriptName = regexp.MustCompile(`(?i)script|lua|src`)

// looksLikeText reports whether an expression without a known value may be a text. Of packages that are not read the types
// are not known.
func (p *pack) looksLikeText(e ast.Expr, place bool) bool {
	if t := p.info.TypeOf(e); t != nil && t != types.Typ[types.Invalid] {
		basic, ok := t.Underlying().(*types.Basic)
		return ok && basic.Info()&types.IsString != 0
	}
	return place || scriptName.MatchString(lastName(e))
}

// isScript reports whether a method is one of a script, which gets a client where others get the script.
func (p *pack) isScript(fn ast.Expr) bool {
	method, _ := fn.(*ast.SelectorExpr)
	if method == nil || scriptName.MatchString(lastName(method.X)) {
		return method != nil
	}
	name, _ := method.X.(*ast.Ident)
	return name != nil && slices.ContainsFunc(p.values[p.info.ObjectOf(name)], func(e ast.Expr) bool {
		call, ok := e.(*ast.CallExpr)
		return ok && slices.Contains(makers, lastName(call.Fun))
	})
}

// behindEval returns the argument behind "EVAL", or "SCRIPT", "LOAD".
func behindEval(args []ast.Expr) []ast.Expr {
	before := ""
	for i, e := range args[:len(args)-1] {
		word := ""
		if lit, ok := e.(*ast.BasicLit); ok {
			word, _ = strconv.Unquote(lit.Value)
		}
		word = strings.ToUpper(word)
		if word == "EVAL" || word == "EVAL_RO" || word == "LOAD" && before == "SCRIPT" {
			return args[i+1 : i+2]
		}
		before = word
	}
	return nil
}

// builds reports whether a method is one of the builder of a command: client.B().Eval().Script(...).
func builds(fn ast.Expr) bool {
	method, ok := fn.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	before, ok := method.X.(*ast.CallExpr)
	return ok && slices.Contains([]string{"Eval", "EvalRo", "ScriptLoad"}, lastName(before.Fun))
}
