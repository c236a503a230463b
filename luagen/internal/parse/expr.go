package parse

// priority gives the left and right priority of each binary operator.
var priority = map[string][2]int{
	"or": {1, 1}, "and": {2, 2},
	"<": {3, 3}, ">": {3, 3}, "<=": {3, 3}, ">=": {3, 3}, "~=": {3, 3}, "==": {3, 3},
	"..": {5, 4}, "+": {6, 6}, "-": {6, 6}, "*": {7, 7}, "/": {7, 7}, "%": {7, 7}, "^": {10, 9},
}

const unaryPriority = 8

func (p *parser) expr() Expr { return p.binary(0) }

func (p *parser) exprList() []Expr {
	list := []Expr{p.expr()}
	for p.accept(",") {
		list = append(list, p.expr())
	}
	return list
}

// binary parses operators that bind tighter than limit.
func (p *parser) binary(limit int) Expr {
	p.enter()
	defer p.leave()
	var left Expr
	if pos := p.tok.Pos; p.tok.is("not") || p.tok.is("-") || p.tok.is("#") {
		op := p.next().Text
		left = &UnaryExpr{at{pos}, op, p.binary(unaryPriority)}
	} else {
		left = p.simple()
	}
	for n := 0; p.tok.Kind == Keyword || p.tok.Kind == Op; n++ {
		p.chain(n)
		prio, ok := priority[p.tok.Text]
		if !ok || prio[0] <= limit {
			break
		}
		op := p.next().Text
		left = &BinaryExpr{at{left.Pos()}, op, left, p.binary(prio[1])}
	}
	return left
}

// chain refuses what would make a tree too deep to walk, which is luagen's own limit: servers take chains of any length.
func (p *parser) chain(n int) {
	if n > maxChain {
		refuse(RuleLimit, p.tok.Pos, "more than %d operators or calls in a row", maxChain)
	}
}

func (p *parser) simple() Expr {
	switch pos := p.tok.Pos; {
	case p.tok.Kind == Number:
		return &NumberExpr{at{pos}, p.next().Text}
	case p.tok.Kind == String:
		return &StringExpr{at{pos}, p.next().Value}
	case p.accept("nil"):
		return &NilExpr{at{pos}}
	case p.tok.is("true"), p.tok.is("false"):
		return &BoolExpr{at{pos}, p.next().Text == "true"}
	case p.tok.is("..."):
		if !p.fn.vararg {
			fail(pos, "... outside a function that takes it")
		}
		p.next()
		return &VarargExpr{at{pos}}
	case p.tok.is("{"):
		return p.table()
	case p.accept("function"):
		return p.function(pos, false)
	}
	return p.primary()
}

// primary parses a name or a parenthesis, and the indexes and calls after it.
func (p *parser) primary() Expr {
	pos := p.tok.Pos
	var e Expr
	switch {
	case p.tok.Kind == Name:
		e = p.use(p.next())
	case p.accept("("):
		e = &ParenExpr{at{pos}, p.expr()}
		p.expectEnd(")", "(", pos)
	default:
		fail(pos, "unexpected %s", p.found())
	}
	for n := 0; ; n++ {
		p.chain(n)
		switch {
		case p.accept("."):
			e = p.field(e)
		case p.accept("["):
			e = &IndexExpr{at{pos}, e, p.expr()}
			p.expect("]")
		case p.accept(":"):
			method := p.name().Text
			e = &CallExpr{at{pos}, e, method, p.arguments(), p.last()}
		case p.tok.Kind == String, p.tok.is("("), p.tok.is("{"):
			e = &CallExpr{at{pos}, e, "", p.arguments(), p.last()}
		default:
			return e
		}
	}
}

func (p *parser) field(x Expr) Expr {
	name := p.name()
	return &IndexExpr{at{x.Pos()}, x, &StringExpr{at{name.Pos}, name.Text}}
}

func (p *parser) arguments() []Expr {
	open := p.tok
	switch {
	case open.Kind == String:
		p.next()
		return []Expr{&StringExpr{at{open.Pos}, open.Value}}
	case open.is("{"):
		return []Expr{p.table()}
	case !open.is("("):
		fail(open.Pos, "expected arguments, found %s", p.found())
	case p.tokens[p.ahead].endLine != p.lastLine:
		fail(open.Pos, "ambiguous: a call of the line above, or a new statement?")
	}
	p.next()
	if p.accept(")") {
		return nil
	}
	list := p.exprList()
	p.expectEnd(")", "(", open.Pos)
	return list
}

func (p *parser) table() Expr {
	t := &TableExpr{at: at{p.tok.Pos}}
	p.expect("{")
	for !p.tok.is("}") {
		t.Fields = append(t.Fields, p.tableField())
		if !p.accept(",") && !p.accept(";") {
			break
		}
	}
	p.expectEnd("}", "{", t.P)
	return t
}

func (p *parser) tableField() Field {
	switch {
	case p.tok.Kind == Name && p.lookahead().is("="):
		name := p.next()
		p.next()
		return Field{&StringExpr{at{name.Pos}, name.Text}, p.expr()}
	case p.accept("["):
		key := p.expr()
		p.expect("]")
		p.expect("=")
		return Field{key, p.expr()}
	}
	return Field{Value: p.expr()}
}

// function parses parameters and body; the word function is consumed.
func (p *parser) function(pos Pos, method bool) *FuncExpr {
	f := &FuncExpr{at: at{pos}}
	p.fn = &function{outer: p.fn, upvalues: map[*Var]bool{}}
	defer func() { p.fn = p.fn.outer }()
	if method {
		f.Params = append(f.Params, p.declare(Token{Kind: Name, Text: "self", Pos: pos}, ParamVar))
		p.activate(f.Params...)
	}
	p.expect("(")
	p.parameters(f)
	p.expect(")")
	f.Body = p.chunk()
	p.expectEnd("end", "function", pos)
	f.Last = p.last()
	return f
}

func (p *parser) parameters(f *FuncExpr) {
	first := len(f.Params)
	for more := !p.tok.is(")"); more; more = !f.Vararg && p.accept(",") {
		if p.tok.is("...") {
			// Lua 5.1 gives such a function the name arg too.
			pos := p.next().Pos
			f.Vararg, p.fn.vararg = true, true
			f.Params = append(f.Params, p.declare(Token{Kind: Name, Text: "arg", Pos: pos}, ParamVar))
			continue
		}
		f.Params = append(f.Params, p.declare(p.name(), ParamVar))
	}
	p.activate(f.Params[first:]...)
}
