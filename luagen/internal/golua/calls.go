package golua

import (
	"go/ast"
	"go/token"
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

// scan finds the scripts of a package.
func (p *pack) scan(folder *Folder) {
	for _, f := range p.files {
		imports := slices.ContainsFunc(f.Imports, func(i *ast.ImportSpec) bool {
			return relevant.MatchString(i.Path.Value)
		})
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

// call notes the script that a call passes. Only in a file that imports a client every call is meant.
func (p *pack) call(folder *Folder, call *ast.CallExpr, imports bool) {
	e := scriptOf(call)
	if e == nil {
		return
	}
	at := p.set.PositionFor(e.Pos(), false)
	t, known := p.text(e)
	switch {
	case known && t.parts == 1 && len(t.of) == 1:
		folder.Files = append(folder.Files, t.of[0])
	case known && parse.ForServer(t.bytes):
		name := p.nameOf(call, e)
		script := &Script{Call: at, Name: name, Doc: p.docs[name], Of: t.of, set: p.set}
		script.Text, script.at = normal(t)
		folder.Scripts = append(folder.Scripts, script)
	case !known && imports:
		folder.Unseen = append(folder.Unseen, at)
	}
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
			p.labels[v] = calleeName(n.Lhs[i])
		}
	case *ast.KeyValueExpr:
		p.labels[n.Value] = calleeName(n.Key)
	}
}

// nameOf returns what a script may be called.
func (p *pack) nameOf(call *ast.CallExpr, script ast.Expr) string {
	fn, _ := p.within.(*ast.FuncDecl)
	switch name := calleeName(script); {
	case name != "":
		return name
	case p.labels[call] != "" && p.labels[call] != "_":
		return p.labels[call]
	case fn != nil:
		return fn.Name.Name
	}
	return "script"
}

// scriptOf returns the argument of a call that is a script, or nil.
func scriptOf(call *ast.CallExpr) ast.Expr {
	name, n := calleeName(call.Fun), len(call.Args)
	switch {
	case n == 0:
	case slices.Contains(makers, name):
		return last(call, name)
	case slices.Contains(evals, name):
		return firstText(call.Args)
	case slices.Contains(senders, name):
		return behindEval(call.Args)
	case name == "Script" && n == 1 && builds(call.Fun):
		return call.Args[0]
	}
	return nil
}

// last returns the script of a constructor: redigo's has the number of keys before it.
func last(call *ast.CallExpr, name string) ast.Expr {
	if name == "NewScript" && len(call.Args) == 2 {
		return call.Args[1]
	}
	return call.Args[0]
}

func calleeName(fn ast.Expr) string {
	switch fn := fn.(type) {
	case *ast.Ident:
		return fn.Name
	case *ast.SelectorExpr:
		return fn.Sel.Name
	}
	return ""
}

var scriptName = regexp.MustCompile(`(?i)script|lua|src`)

// firstText returns the first of two arguments that looks like a text: before it there may be a context. A method Eval
// of a script gets a client there.
func firstText(args []ast.Expr) ast.Expr {
	for _, e := range args[:min(len(args), 2)] {
		switch e := e.(type) {
		case *ast.BasicLit:
			if e.Kind == token.STRING {
				return e
			}
		case *ast.BinaryExpr:
			return e
		case *ast.Ident, *ast.SelectorExpr:
			if scriptName.MatchString(calleeName(e)) {
				return e
			}
		case *ast.CallExpr:
			if name := calleeName(e.Fun); name == "Sprintf" || name == "string" {
				return e
			}
		}
	}
	return nil
}

// behindEval returns the argument behind "EVAL", or "SCRIPT", "LOAD".
func behindEval(args []ast.Expr) ast.Expr {
	for i, e := range args[:len(args)-1] {
		lit, ok := e.(*ast.BasicLit)
		if !ok {
			continue
		}
		word, _ := strconv.Unquote(lit.Value)
		if slices.Contains([]string{"EVAL", "EVAL_RO", "LOAD"}, strings.ToUpper(word)) {
			return args[i+1]
		}
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
	return ok && slices.Contains([]string{"Eval", "EvalRo", "ScriptLoad"}, calleeName(before.Fun))
}

// normal returns a text as the parser has it, and the places of its bytes.
func normal(t text) (src []byte, at []token.Pos) {
	for i := 0; i < len(t.bytes); i++ {
		c := t.bytes[i]
		at = append(at, t.at[i])
		if c != '\n' && c != '\r' {
			src = append(src, c)
			continue
		}
		src = append(src, '\n')
		if i+1 < len(t.bytes) && (t.bytes[i+1] == '\n' || t.bytes[i+1] == '\r') && t.bytes[i+1] != c {
			i++
		}
	}
	return src, at
}
