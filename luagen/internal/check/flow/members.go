package flow

import "github.com/hasp-go/hasp/luagen/internal/parse"

// ask notes what a condition asks for: members of libraries, as in (table.unpack or unpack)(list), and fields, as in
// "not job.at".
func (c *code) ask(condition parse.Expr) {
	switch e := Unparen(condition).(type) {
	case *parse.BinaryExpr:
		if e.Op == "and" || e.Op == "or" {
			c.ask(e.L)
			c.ask(e.R)
		}
	case *parse.IndexExpr:
		if lib, name := MemberOf(e); lib != nil {
			c.Members[lib.Name+"."+name.Value] = true
		}
		c.Members[c.NameOf(e)] = true
	case *parse.CallExpr:
		c.Members[c.NameOf(e)] = true
	case *parse.UnaryExpr:
		c.ask(e.X)
	}
}

// MemberOf returns X and name of X.name, if X is a global name.
func MemberOf(e *parse.IndexExpr) (lib *parse.NameExpr, name *parse.StringExpr) {
	lib, isName := e.X.(*parse.NameExpr)
	name, isText := e.Key.(*parse.StringExpr)
	if !isName || !isText || lib.Var != nil {
		return nil, nil
	}
	return lib, name
}
