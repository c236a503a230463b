package embedded

import (
	"cmp"
	"fmt"
	"reflect"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
)

// What a script does with texts and numbers without calling a function is decided in gopher-lua's
// machine, which no function can replace. So a parsed script is changed: "a .. b" becomes a call, and so do
// the bounds of "for". Such a call names its function by a text that compile replaces among the constants.

// hidden are the functions that rewritten scripts call. They have no interpreter.
var hidden = map[string]*lua.LFunction{
	"\x00concat": hide(operator("__concat", textOfValue, func(a, b string) lua.LValue { return lua.LString(a + b) })),
	"\x00bound":  hide(toNumber),
}

func hide(function lua.LGFunction) *lua.LFunction {
	return &lua.LFunction{IsG: true, Env: &lua.LTable{Metatable: lua.LNil}, GFunction: function}
}

// rewrite changes all that node has, and then node.
func rewrite(node reflect.Value) {
	eachChild(node, rewrite)
	if node.Kind() != reflect.Interface {
		return
	}
	switch n := node.Interface().(type) {
	case *ast.StringConcatOpExpr:
		node.Set(reflect.ValueOf(rewriteConcat(n)))
	case *ast.NumberForStmt:
		rewriteBounds(n)
	case *ast.AssignStmt:
		node.Set(reflect.ValueOf(rewriteAssignment(n)))
	}
}

// eachChild visits what node consists of. Nodes are pointers, in interfaces and slices.
func eachChild(node reflect.Value, visit func(child reflect.Value)) {
	switch node.Kind() {
	case reflect.Interface, reflect.Pointer:
		if !node.IsNil() {
			visit(node.Elem())
		}
	case reflect.Slice:
		for i := range node.Len() {
			visit(node.Index(i))
		}
	case reflect.Struct:
		for i := range node.NumField() {
			if node.Type().Field(i).IsExported() {
				visit(node.Field(i))
			}
		}
	}
}

// rewriteConcat returns a call, or the concatenation if both operands are literal texts.
func rewriteConcat(pair *ast.StringConcatOpExpr) ast.Expr {
	_, leftLiteral := pair.Lhs.(*ast.StringExpr)
	// The last argument of a call may be several values, an operand is one.
	switch right := pair.Rhs.(type) {
	case *ast.StringExpr:
		if leftLiteral {
			return pair
		}
	case *ast.FuncCallExpr:
		right.AdjustRet = true
	case *ast.Comma3Expr:
		right.AdjustRet = true
	}
	return callHidden("\x00concat", pair, pair.Lhs, pair.Rhs)
}

func rewriteBounds(loop *ast.NumberForStmt) {
	for _, at := range []*ast.Expr{&loop.Init, &loop.Limit, &loop.Step} {
		if _, literal := (*at).(*ast.NumberExpr); *at != nil && !literal {
			*at = callHidden("\x00bound", loop, *at)
		}
	}
}

// rewriteAssignment evaluates all values into variables of their own first: gopher-lua assigns the first of several
// before it evaluates the second, and puts the function of "x = (f(x))" into x if that is the last parameter.
func rewriteAssignment(assignment *ast.AssignStmt) ast.Stmt {
	call, isCall := assignment.Rhs[0].(*ast.FuncCallExpr)
	if len(assignment.Lhs) == 1 && !(isCall && call.AdjustRet) {
		return assignment
	}
	values := &ast.LocalAssignStmt{Exprs: assignment.Rhs}
	assignment.Rhs = nil
	for i := range assignment.Lhs {
		value := &ast.IdentExpr{Value: fmt.Sprintf("\x00%d", i)}
		value.SetLine(assignment.Line())
		values.Names, assignment.Rhs = append(values.Names, value.Value), append(assignment.Rhs, value)
	}
	values.SetLine(assignment.Line())
	block := &ast.DoBlockStmt{Stmts: []ast.Stmt{values, assignment}}
	block.SetLine(assignment.Line())
	block.SetLastLine(assignment.LastLine())
	return block
}

// callHidden returns a call of a hidden function, at the place of a node.
func callHidden(name string, place ast.PositionHolder, args ...ast.Expr) *ast.FuncCallExpr {
	function := &ast.StringExpr{Value: name}
	made := &ast.FuncCallExpr{Func: function, Args: args, AdjustRet: true}
	for _, node := range []ast.PositionHolder{function, made} {
		node.SetLine(place.Line())
		node.SetLastLine(place.LastLine())
	}
	return made
}

// unhide puts the functions themselves where proto and those within it have their names.
func unhide(proto *lua.FunctionProto, counts lineCounts) {
	for i, constant := range proto.Constants {
		name, _ := constant.(lua.LString)
		if function := cmp.Or(hidden[string(name)], counts.function(string(name))); function != nil {
			proto.Constants[i] = function
		}
	}
	for _, inner := range proto.FunctionPrototypes {
		unhide(inner, counts)
	}
}
