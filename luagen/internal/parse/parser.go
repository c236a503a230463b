package parse

import "slices"

// parser turns tokens into a tree, along the lines of Lua 5.1's own parser, so it accepts and
// refuses the same texts. It fails by panicking with a *Finding.
type parser struct {
	tokens []Token
	lexErr *Finding // stands behind the last token, if set
	at     int      // the current token
	ahead  int      // the last token that Lua's lexer has seen: at, or one more
	tok    Token

	lastLine int // the line on which the last consumed token ended, as Lua sees it
	depth    int // of blocks and expressions
	fn       *function

	vars    []*Var      // every name, in the order of declaration
	globals []*NameExpr // uses of names that are not local
}

const (
	maxDepth    = 200 // LUAI_MAXCCALLS
	maxLocals   = 200 // LUAI_MAXVARS
	maxUpvalues = 60  // LUAI_MAXUPVALUES
	iterator    = 3   // hidden names of a for, and registers of a generic one; Lua 5.1 keeps the registers of what comes after

	maxChain = 1000 // our own
)

// main parses a whole file in which the given names are declared.
func (p *parser) main(declared []*Binding, functions []string) (body *Block, err *Finding) {
	defer func() { err = caught(recover()) }()
	p.load(0)
	p.fn = &function{vararg: true, upvalues: map[*Var]bool{}}
	for _, b := range declared {
		b.Var = p.declare(Token{Kind: Name, Text: b.Name, Pos: b.Pos}, DeclaredVar)
		b.Var.Decl = b
		p.activate(b.Var)
	}
	for _, name := range functions {
		p.activate(p.declare(Token{Kind: Name, Text: name, Pos: p.tok.Pos}, IncludedVar))
	}
	body = p.chunk()
	if p.tok.Kind != EOF {
		fail(p.tok.Pos, "unexpected %s", p.found())
	}
	return body, nil
}

func (p *parser) load(i int) {
	if i >= len(p.tokens) {
		panic(p.lexErr)
	}
	p.at, p.ahead, p.tok = i, max(i, p.ahead), p.tokens[i]
}

// next consumes the current token and returns it.
func (p *parser) next() Token {
	tok := p.tok
	p.lastLine = p.tokens[p.ahead].endLine
	if tok.Kind != EOF {
		p.load(p.at + 1)
	}
	return tok
}

// last returns the place of the token that was consumed last.
func (p *parser) last() Pos { return p.tokens[p.at-1].Pos }

func (p *parser) lookahead() Token {
	if p.at+1 >= len(p.tokens) {
		panic(p.lexErr)
	}
	p.ahead = p.at + 1
	return p.tokens[p.ahead]
}

func (p *parser) accept(text string) bool {
	if p.tok.is(text) {
		p.next()
		return true
	}
	return false
}

func (p *parser) expect(text string) Token {
	if !p.tok.is(text) {
		fail(p.tok.Pos, "expected %s, found %s", text, p.found())
	}
	return p.next()
}

// expectEnd expects the word that closes what was opened at open.
func (p *parser) expectEnd(text, what string, open Pos) {
	if !p.tok.is(text) {
		fail(p.tok.Pos, "expected %s to close %s of line %d, found %s", text, what, open.Line, p.found())
	}
	p.next()
}

func (p *parser) name() Token {
	if p.tok.Kind != Name {
		fail(p.tok.Pos, "expected a name, found %s", p.found())
	}
	return p.next()
}

func (p *parser) found() string {
	switch p.tok.Kind {
	case EOF:
		return "the end of the file"
	case Name, Keyword, Op:
		return p.tok.Text
	case Number:
		return "number " + p.tok.Text
	}
	return "a string"
}

func (p *parser) enter() {
	if p.depth++; p.depth > maxDepth {
		refuse(RuleLimit, p.tok.Pos, "nested more than %d deep: the server refuses it", maxDepth)
	}
}

func (p *parser) leave() { p.depth-- }

// chunk parses statements up to a word that closes a block.
func (p *parser) chunk() *Block {
	p.enter()
	block := &Block{}
	for last := false; !last && !p.closes(); p.accept(";") {
		last = p.tok.is("return") || p.tok.is("break")
		block.Stmts = append(block.Stmts, p.statement())
	}
	p.leave()
	return block
}

func (p *parser) closes() bool {
	return p.tok.Kind == EOF || p.tok.is("end") || p.tok.is("else") || p.tok.is("elseif") || p.tok.is("until")
}

func (p *parser) block(loop bool) *Block {
	p.open(loop)
	defer p.close()
	return p.chunk()
}

func (p *parser) statement() Stmt {
	pos := p.tok.Pos
	if p.tok.Kind != Keyword {
		return p.exprStatement()
	}
	switch p.tok.Text {
	case "if":
		return p.ifStatement()
	case "while":
		p.next()
		cond := p.expr()
		p.expect("do")
		body := p.block(true)
		p.expectEnd("end", "while", pos)
		return &WhileStmt{at{pos}, cond, body}
	case "do":
		p.next()
		body := p.block(false)
		p.expectEnd("end", "do", pos)
		return &DoStmt{at{pos}, body}
	case "for":
		return p.forStatement()
	case "repeat":
		return p.repeatStatement()
	case "function":
		return p.funcStatement()
	case "local":
		p.next()
		if p.accept("function") {
			v := p.declare(p.name(), FuncVar)
			p.activate(v)
			return &LocalFuncStmt{at{pos}, v, p.function(pos, false)}
		}
		return p.localStatement(pos)
	case "return":
		stmt := &ReturnStmt{at: at{p.next().Pos}}
		if !p.closes() && !p.tok.is(";") {
			stmt.Values = p.exprList()
		}
		return stmt
	case "break":
		p.next()
		if !slices.ContainsFunc(p.fn.scopes, func(s scope) bool { return s.loop }) {
			fail(pos, "break outside a loop")
		}
		return &BreakStmt{at{pos}}
	}
	fail(pos, "unexpected %s", p.tok.Text)
	return nil
}

func (p *parser) ifStatement() Stmt {
	stmt := &IfStmt{at: at{p.tok.Pos}}
	for more := true; more; more = p.tok.is("elseif") {
		p.next()
		stmt.Conds = append(stmt.Conds, p.expr())
		p.expect("then")
		stmt.Blocks = append(stmt.Blocks, p.block(false))
	}
	if p.accept("else") {
		stmt.Else = p.block(false)
	}
	p.expectEnd("end", "if", stmt.P)
	return stmt
}

func (p *parser) forStatement() Stmt {
	pos := p.next().Pos
	p.open(true)
	defer p.close()
	p.hidden(iterator, pos)
	first := p.name()
	var stmt Stmt
	switch {
	case p.tok.is("="):
		stmt = p.numericFor(pos, first)
	case p.tok.is(","), p.tok.is("in"):
		stmt = p.genericFor(pos, first)
	default:
		fail(p.tok.Pos, "expected = or in, found %s", p.found())
	}
	p.expectEnd("end", "for", pos)
	return stmt
}

func (p *parser) numericFor(pos Pos, name Token) Stmt {
	stmt := &NumForStmt{at: at{pos}, Var: p.declare(name, LoopVar)}
	p.next()
	stmt.From = p.expr()
	p.expect(",")
	stmt.To = p.expr()
	if p.accept(",") {
		stmt.Step = p.expr()
	}
	stmt.Body = p.forBody(stmt.Var)
	return stmt
}

func (p *parser) genericFor(pos Pos, first Token) Stmt {
	stmt := &GenForStmt{at: at{pos}, Vars: []*Var{p.declare(first, LoopVar)}}
	for p.accept(",") {
		stmt.Vars = append(stmt.Vars, p.declare(p.name(), LoopVar))
	}
	p.expect("in")
	if stmt.Values = p.exprList(); len(stmt.Values) > iterator {
		fail(stmt.Values[iterator].Pos(), "more than %d values after in: the server gives the loop's local names wrong values", iterator)
	}
	stmt.Body = p.forBody(stmt.Vars...)
	return stmt
}

func (p *parser) forBody(vars ...*Var) *Block {
	p.expect("do")
	p.activate(make([]*Var, iterator)...)
	p.open(false)
	defer p.close()
	p.activate(vars...)
	return p.chunk()
}

func (p *parser) repeatStatement() Stmt {
	pos := p.next().Pos
	p.open(true)
	defer p.close()
	p.open(false)
	defer p.close()
	body := p.chunk()
	p.expectEnd("until", "repeat", pos)
	return &RepeatStmt{at{pos}, body, p.expr()}
}

func (p *parser) funcStatement() Stmt {
	stmt := &FuncStmt{at: at{p.next().Pos}}
	stmt.Target = p.use(p.name())
	for p.accept(".") {
		stmt.Target = p.field(stmt.Target)
	}
	method := p.accept(":")
	if method {
		p.name()
	} else {
		p.target(stmt.Target)
	}
	stmt.Func = p.function(stmt.P, method)
	return stmt
}

func (p *parser) localStatement(pos Pos) Stmt {
	stmt := &LocalStmt{at: at{pos}}
	for more := true; more; more = p.accept(",") {
		stmt.Vars = append(stmt.Vars, p.declare(p.name(), LocalVar))
	}
	if p.accept("=") {
		stmt.Values = p.exprList()
	}
	p.activate(stmt.Vars...)
	return stmt
}

// exprStatement parses a call or an assignment.
func (p *parser) exprStatement() Stmt {
	pos := p.tok.Pos
	first := p.primary()
	if call, ok := first.(*CallExpr); ok {
		return &CallStmt{at{pos}, call}
	}
	stmt := &AssignStmt{at: at{pos}, Targets: []Expr{p.target(first)}}
	for p.accept(",") {
		stmt.Targets = append(stmt.Targets, p.target(p.primary()))
		if len(stmt.Targets)-1 > maxDepth-p.depth {
			refuse(RuleLimit, p.tok.Pos, "too many variables in one assignment: the server refuses it")
		}
	}
	p.expect("=")
	stmt.Values = p.exprList()
	return stmt
}

// target marks what was read last as assigned to, and refuses what cannot be.
func (p *parser) target(e Expr) Expr {
	switch e := e.(type) {
	case *NameExpr:
		e.assigned()
	case *IndexExpr:
	default:
		fail(e.Pos(), "expected a call or an assignment before %s", p.found())
	}
	return e
}
