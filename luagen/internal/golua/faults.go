package golua

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"
)

// Fault is what is wrong in the code that calls a client, whatever the script is.
type Fault struct {
	At        token.Position
	Rule, Msg string
}

var (
	bySum   = regexp.MustCompile(`(?i)^evalsha(?:ro|_ro|ctx|context)?$`)
	sums    = regexp.MustCompile(`"(?i:EVALSHA)(?:_RO)?"`)
	lost    = regexp.MustCompile(`(?i)noscript|no matching script|script.?exists`)
	whole   = regexp.MustCompile(`\.Eval(?:RO|Ctx|Context)?\(|"(?i:EVAL)"`)
	loading = regexp.MustCompile(`Load\w*\(|"(?i:LOAD)"`)
	once    = regexp.MustCompile(`== ""|!\w*(?i:loaded)`)
	piped   = regexp.MustCompile(`\.Pipeliner$|\.Pipeline$`)
	runs    = regexp.MustCompile(`^(?:Run|Eval)`)
	direct  = regexp.MustCompile(`\.(?:Client|ClusterClient|UniversalClient|Ring|Conn)$`)
)

// faults finds what is wrong in a call, or a statement, of a declaration.
func (r *reader) faults(n ast.Node, within ast.Decl) {
	switch n := n.(type) {
	case *ast.ExprStmt:
		r.ignored(n.X)
	case *ast.CallExpr:
		switch {
		case !r.ofClient(n) || !r.loses(within):
		case r.isBySum(n, within):
			r.fault(n, "command", "after a restart or a failover this fails with NOSCRIPT, and nothing here loads the script then: call Run, or Eval")
		case slices.Contains([]string{"Run", "RunRO"}, lastName(n.Fun)) && slices.ContainsFunc(n.Args[:min(2, len(n.Args))], r.isPipe):
			r.fault(n, "command", "in a pipeline Run is EVALSHA alone, which fails with NOSCRIPT if the server has not the script: call Eval here, or Load before")
		}
	}
}

func (r *reader) fault(n ast.Node, rule, msg string) {
	if at := r.position(n.Pos()); !strings.HasSuffix(at.Filename, "_test.go") {
		r.Faults = append(r.Faults, Fault{at, rule, msg})
	}
}

// ofClient reports whether a method may be one of a client: it is, or its type is not known.
func (r *reader) ofClient(call *ast.CallExpr) bool {
	of := r.own(call.Fun)
	return of == nil || client.MatchString(method.FindString(fmt.Sprint(of)))
}

// loses reports whether nothing in the package knows what to do if the server has lost a script, and a declaration does not
// load one before each call.
func (r *reader) loses(within ast.Decl) bool {
	for path, src := range r.sources {
		if !strings.HasSuffix(path, "_test.go") && lost.Match(src) {
			return false
		}
	}
	code := r.code(within)
	return !loading.MatchString(code) || once.MatchString(code)
}

// isBySum reports whether a call sends the sum of a script, where nothing in the package sends a script.
func (r *reader) isBySum(call *ast.CallExpr, within ast.Decl) bool {
	name := lastName(call.Fun)
	if fn, ok := within.(*ast.FuncDecl); !ok || bySum.MatchString(fn.Name.Name) || !bySum.MatchString(name) &&
		!(slices.Contains(senders, name) && slices.ContainsFunc(call.Args, func(e ast.Expr) bool { return sums.MatchString(r.code(e)) })) {
		return false
	}
	for path, src := range r.sources {
		if !strings.HasSuffix(path, "_test.go") && whole.Match(src) {
			return false
		}
	}
	return true
}

// isPipe reports whether a value is a pipeline.
func (r *reader) isPipe(e ast.Expr) bool {
	return piped.MatchString(r.typeOf(e)) || slices.ContainsFunc(r.origins(e), func(e ast.Expr) bool {
		_, call := e.(*ast.CallExpr)
		return call && slices.Contains([]string{"Pipeline", "TxPipeline"}, lastName(e))
	})
}

// ignored finds a call of a script whose error is not asked for.
func (r *reader) ignored(e ast.Expr) {
	call, fn := methodCall(e)
	if call != nil && slices.Contains([]string{"Err", "Result", "Val"}, fn.Sel.Name) {
		call, fn = methodCall(fn.X)
	}
	if call != nil && runs.MatchString(fn.Sel.Name) && strings.HasSuffix(r.typeOf(call), ".Cmd") && slices.ContainsFunc(append([]ast.Expr{fn.X}, call.Args[:min(2, len(call.Args))]...),
		func(e ast.Expr) bool { return direct.MatchString(r.typeOf(e)) }) {
		r.fault(call, "result", "nothing looks at the error of this call, and if it fails nobody knows: write .Err(), and ask for it")
	}
}

// method returns an expression as a call of a method, or nil.
func methodCall(e ast.Expr) (*ast.CallExpr, *ast.SelectorExpr) {
	if call, ok := e.(*ast.CallExpr); ok {
		if fn, ok := call.Fun.(*ast.SelectorExpr); ok {
			return call, fn
		}
	}
	return nil, nil
}

func (r *reader) typeOf(e ast.Expr) string { return types.TypeString(r.TypeOf(e), nil) }
