package parse_test

import (
	"fmt"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// printer writes a tree as Lua, one statement a line.
type printer struct{ strings.Builder }

func printed(b *parse.Block) string {
	p := &printer{}
	p.block(b)
	return p.String()
}

func (p *printer) block(b *parse.Block) {
	for _, stmt := range b.Stmts {
		p.stmt(stmt)
		p.WriteString(";\n")
	}
}

func (p *printer) stmt(stmt parse.Stmt) {
	switch s := stmt.(type) {
	case *parse.LocalStmt:
		p.WriteString("local " + varNames(s.Vars))
		p.assign(s.Values)
	case *parse.AssignStmt:
		p.exprs(s.Targets)
		p.assign(s.Values)
	case *parse.CallStmt:
		p.expr(s.Call)
	case *parse.DoStmt:
		p.body("do", s.Body)
	case *parse.WhileStmt:
		p.WriteString("while ")
		p.expr(s.Cond)
		p.body(" do", s.Body)
	case *parse.RepeatStmt:
		p.WriteString("repeat\n")
		p.block(s.Body)
		p.WriteString("until ")
		p.expr(s.Cond)
	case *parse.IfStmt:
		p.ifStmt(s)
	case *parse.NumForStmt:
		p.WriteString("for " + s.Var.Name + " = ")
		p.exprs(parse.Exprs(s))
		p.body(" do", s.Body)
	case *parse.GenForStmt:
		p.WriteString("for " + varNames(s.Vars) + " in ")
		p.exprs(s.Values)
		p.body(" do", s.Body)
	case *parse.FuncStmt:
		p.WriteString("function ")
		p.expr(s.Target)
		if s.Method != "" {
			p.WriteString(":" + s.Method)
		}
		p.function(s.Func, s.Method != "")
	case *parse.LocalFuncStmt:
		p.WriteString("local function " + s.Var.Name)
		p.function(s.Func, false)
	case *parse.ReturnStmt:
		p.WriteString("return ")
		p.exprs(s.Values)
	case *parse.BreakStmt:
		p.WriteString("break")
	default:
		panic(fmt.Sprintf("unknown statement %T", s))
	}
}

func (p *printer) ifStmt(s *parse.IfStmt) {
	for i, cond := range s.Conds {
		if i > 0 {
			p.WriteString("else")
		}
		p.WriteString("if ")
		p.expr(cond)
		p.WriteString(" then\n")
		p.block(s.Blocks[i])
	}
	if s.Else != nil {
		p.WriteString("else\n")
		p.block(s.Else)
	}
	p.WriteString("end")
}

func (p *printer) body(open string, b *parse.Block) {
	p.WriteString(open + "\n")
	p.block(b)
	p.WriteString("end")
}

func (p *printer) assign(values []parse.Expr) {
	if len(values) > 0 {
		p.WriteString(" = ")
		p.exprs(values)
	}
}

func varNames(vars []*parse.Var) string {
	names := make([]string, len(vars))
	for i, v := range vars {
		names[i] = v.Name
	}
	return strings.Join(names, ", ")
}

func (p *printer) exprs(list []parse.Expr) {
	for i, e := range list {
		if i > 0 {
			p.WriteString(", ")
		}
		p.expr(e)
	}
}

// expr writes an expression. Operators need no parentheses of the printer's own: the tree holds
// those of the text, and is printed in the text's order.
func (p *printer) expr(e parse.Expr) {
	switch e := e.(type) {
	case *parse.NilExpr:
		p.WriteString("nil")
	case *parse.BoolExpr:
		fmt.Fprint(p, e.Value)
	case *parse.NumberExpr:
		p.WriteString(e.Text)
	case *parse.StringExpr:
		p.WriteString(quoted(e.Value))
	case *parse.VarargExpr:
		p.WriteString("...")
	case *parse.NameExpr:
		p.WriteString(e.Name)
	case *parse.FuncExpr:
		p.WriteString("function")
		p.function(e, false)
	case *parse.IndexExpr:
		p.index(e)
	case *parse.CallExpr:
		p.expr(e.Fn)
		if e.Method != "" {
			p.WriteString(":" + e.Method)
		}
		p.WriteString("(")
		p.exprs(e.Args)
		p.WriteString(")")
	case *parse.BinaryExpr:
		p.expr(e.L)
		p.WriteString(" " + e.Op + " ")
		p.expr(e.R)
	case *parse.UnaryExpr:
		p.WriteString(e.Op + " ")
		p.expr(e.X)
	case *parse.ParenExpr:
		p.WriteString("(")
		p.expr(e.X)
		p.WriteString(")")
	case *parse.TableExpr:
		p.table(e)
	default:
		panic(fmt.Sprintf("unknown expression %T", e))
	}
}

func (p *printer) index(e *parse.IndexExpr) {
	p.expr(e.X)
	if e.Dot {
		p.WriteString("." + e.Key.(*parse.StringExpr).Value)
		return
	}
	p.WriteString("[")
	p.expr(e.Key)
	p.WriteString("]")
}

func (p *printer) table(t *parse.TableExpr) {
	p.WriteString("{")
	for _, f := range t.Fields {
		switch {
		case f.Named:
			p.WriteString(f.Key.(*parse.StringExpr).Value + " = ")
		case f.Key != nil:
			p.WriteString("[")
			p.expr(f.Key)
			p.WriteString("] = ")
		}
		p.expr(f.Value)
		p.WriteString(", ")
	}
	p.WriteString("}")
}

func (p *printer) function(f *parse.FuncExpr, method bool) {
	params := f.Params
	if method {
		params = params[1:]
	}
	names := varNames(params)
	if f.Vararg {
		names = strings.TrimSuffix(names, "arg") + "..."
	}
	p.body("("+names+")", f.Body)
}

// quoted writes every byte of a text so that it needs no thought.
func quoted(text string) string {
	var b strings.Builder
	for i := range len(text) {
		fmt.Fprintf(&b, `\%03d`, text[i])
	}
	return `"` + b.String() + `"`
}
