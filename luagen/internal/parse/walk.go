package parse

import "slices"

// Exprs returns the expressions that stand directly in a statement, not those in its blocks.
func Exprs(stmt Stmt) []Expr {
	switch s := stmt.(type) {
	case *LocalStmt:
		return s.Values
	case *AssignStmt:
		return slices.Concat(s.Targets, s.Values)
	case *CallStmt:
		return []Expr{s.Call}
	case *WhileStmt:
		return []Expr{s.Cond}
	case *RepeatStmt:
		return []Expr{s.Cond}
	case *IfStmt:
		return s.Conds
	case *NumForStmt:
		if s.Step == nil {
			return []Expr{s.From, s.To}
		}
		return []Expr{s.From, s.To, s.Step}
	case *GenForStmt:
		return s.Values
	case *FuncStmt:
		return []Expr{s.Target, s.Func}
	case *LocalFuncStmt:
		return []Expr{s.Func}
	case *ReturnStmt:
		return s.Values
	}
	return nil
}

// Walk calls visit for e and every expression in it, but for those in the bodies of functions.
func Walk(e Expr, visit func(Expr)) {
	Contains(e, func(inner Expr) bool { visit(inner); return false })
}

// Contains reports whether e, or an expression in it that Walk visits, is what is meant. It stops at the first.
func Contains(e Expr, meant func(Expr) bool) bool {
	if meant(e) {
		return true
	}
	switch e := e.(type) {
	case *IndexExpr:
		return Contains(e.X, meant) || Contains(e.Key, meant)
	case *CallExpr:
		return Contains(e.Fn, meant) || slices.ContainsFunc(e.Args, func(arg Expr) bool { return Contains(arg, meant) })
	case *BinaryExpr:
		return Contains(e.L, meant) || Contains(e.R, meant)
	case *UnaryExpr:
		return Contains(e.X, meant)
	case *ParenExpr:
		return Contains(e.X, meant)
	case *TableExpr:
		return slices.ContainsFunc(e.Fields, func(f Field) bool {
			return f.Key != nil && Contains(f.Key, meant) || Contains(f.Value, meant)
		})
	}
	return false
}

// ManyValues reports whether an expression at the end of a list may stand for any number of values.
func ManyValues(e Expr) bool {
	switch e.(type) {
	case *CallExpr, *VarargExpr:
		return true
	}
	return false
}

// Blocks returns the blocks of a statement, those of functions in its expressions left out.
func Blocks(stmt Stmt) []*Block {
	switch s := stmt.(type) {
	case *DoStmt:
		return []*Block{s.Body}
	case *WhileStmt:
		return []*Block{s.Body}
	case *RepeatStmt:
		return []*Block{s.Body}
	case *IfStmt:
		if s.Else == nil {
			return s.Blocks
		}
		return append(slices.Clone(s.Blocks), s.Else)
	case *NumForStmt:
		return []*Block{s.Body}
	case *GenForStmt:
		return []*Block{s.Body}
	}
	return nil
}

// EachStmt calls visit for every statement of a block, those of functions in expressions included.
func EachStmt(b *Block, visit func(Stmt)) {
	for _, stmt := range b.Stmts {
		visit(stmt)
		for _, e := range Exprs(stmt) {
			Walk(e, func(inner Expr) {
				if f, ok := inner.(*FuncExpr); ok {
					EachStmt(f.Body, visit)
				}
			})
		}
		for _, inner := range Blocks(stmt) {
			EachStmt(inner, visit)
		}
	}
}
