package parse

import "slices"

// Exprs returns the expressions that stand directly in a statement, not those in its blocks.
func Exprs(stmt Stmt) []Expr {
	exprs, _ := parts(stmt)
	return exprs
}

// Blocks returns the blocks of a statement, those of functions in its expressions left out.
func Blocks(stmt Stmt) []*Block {
	_, blocks := parts(stmt)
	return blocks
}

func parts(stmt Stmt) ([]Expr, []*Block) {
	switch s := stmt.(type) {
	case *LocalStmt:
		return s.Values, nil
	case *AssignStmt:
		return slices.Concat(s.Targets, s.Values), nil
	case *CallStmt:
		return []Expr{s.Call}, nil
	case *DoStmt:
		return nil, []*Block{s.Body}
	case *WhileStmt:
		return []Expr{s.Cond}, []*Block{s.Body}
	case *RepeatStmt:
		return []Expr{s.Cond}, []*Block{s.Body}
	case *IfStmt:
		return s.Conds, slices.DeleteFunc(append(slices.Clone(s.Blocks), s.Else), func(b *Block) bool { return b == nil })
	case *NumForStmt:
		return slices.DeleteFunc([]Expr{s.From, s.To, s.Step}, func(e Expr) bool { return e == nil }), []*Block{s.Body}
	case *GenForStmt:
		return s.Values, []*Block{s.Body}
	case *FuncStmt:
		return []Expr{s.Target, s.Func}, nil
	case *LocalFuncStmt:
		return []Expr{s.Func}, nil
	case *ReturnStmt:
		return s.Values, nil
	}
	return nil, nil
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
