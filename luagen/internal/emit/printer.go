package emit

import (
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// printer writes tokens of a file.
type printer struct {
	*linker
	unit *unit
	main bool                // the lines of the script stay
	env  map[*parse.Var]word // what stands for a variable
	f    *function           // whose body it writes, instead of a call; nil: what stands for itself
	exit exit
}

// word is what stands for a variable.
type word struct {
	text     string
	constant bool
}

// exit is how a function's body is left that stands instead of a call.
type exit struct {
	goesOn  bool // the code behind the call runs; else a return stays one
	targets []string
	fresh   bool // the targets are nil so far
	early   bool // by a break: f returns before its last statement
}

// joined returns the functions of an included file, and of those that it includes, that are made before the script's code.
func (l *linker) joined(library *parse.Script) []string {
	if library == nil {
		return nil
	}
	var texts []string
	for _, inc := range library.Header.Includes {
		texts = append(texts, l.joined(inc.Script)...)
	}
	return append(texts, l.made(atTop, library)...)
}

// span returns tokens on one line.
func (p *printer) span(from, to int) string {
	var b strings.Builder
	for i, end := from, 0; i < to; {
		if i > from && p.unit.Tokens[i].Pos.Offset > end {
			b.WriteByte(' ')
		}
		text, next := p.next(i)
		if text == ".." && strings.TrimRight(b.String(), "0123456789") != b.String() {
			b.WriteByte(' ')
		}
		b.WriteString(text)
		end, i = p.unit.Tokens[next-1].End, next
	}
	return b.String()
}

// next returns the text of the token at i, or of what is replaced from there on, and the index of the token behind it.
func (p *printer) next(i int) (string, int) {
	tok := p.unit.Tokens[i]
	at := tok.Pos.Offset
	stmt := p.unit.stmts[at]
	if r, ok := stmt.(*parse.ReturnStmt); ok && p.exit.goesOn && slices.Contains(p.f.returns, r) {
		return p.leave(r, i)
	}
	if call := soleCall(stmt); p.inPlace[call] != nil {
		return p.statement(stmt, call)
	}
	switch call, v := p.unit.calls[at], p.unit.vars[at]; {
	case p.inPlace[call] != nil:
		return p.expression(call)
	case v != nil && tok.Kind == parse.Name: // There is one of "...", too: arg.
		return p.nameOf(v), i + 1
	case !p.main:
		return oneLine(tok), i + 1
	}
	return tok.Text, i + 1
}

// expression returns the only result of a function, instead of its call.
func (p *printer) expression(call *parse.CallExpr) (string, int) {
	f := p.inPlace[call]
	in := p.into(f, call, exit{})
	text := in.span(f.body+1, f.end)
	switch f.result().(type) {
	case *parse.NameExpr, *parse.StringExpr, *parse.ParenExpr:
	default:
		text = "(" + text + ")"
	}
	return text, p.unit.behind(call)
}

// statement returns the body of a function, instead of a statement whose only value is its call.
func (p *printer) statement(stmt parse.Stmt, call *parse.CallExpr) (string, int) {
	e := exit{goesOn: true}
	switch s := stmt.(type) {
	case *parse.ReturnStmt:
		e.goesOn = false
	case *parse.LocalStmt:
		e.fresh = true
		for _, v := range s.Vars {
			e.targets = append(e.targets, p.nameOf(v))
		}
	case *parse.AssignStmt:
		for _, target := range s.Targets {
			e.targets = append(e.targets, p.nameOf(parse.VarOf(target)))
		}
	}
	return p.replaced(call, e)
}

func (p *printer) nameOf(v *parse.Var) string {
	if w, ok := p.env[v]; ok {
		return w.text
	}
	return v.Name
}

// replaced returns the body of the function that is called, which is left by an exit.
func (p *printer) replaced(call *parse.CallExpr, e exit) (string, int) {
	f := p.inPlace[call]
	e.early = e.goesOn && (len(f.returns) > 1 || len(f.returns) == 1 && !f.closed())
	in, behind := p.into(f, call, e), p.unit.behind(call)
	head, binds := "", p.binds(in, f, call)
	if e.fresh {
		head = "local " + strings.Join(e.targets, ", ")
	}
	body := in.span(f.body, f.end)
	switch {
	case e.early:
		body = "repeat " + binds + body + " until true"
	case binds == "" && head != "" && len(f.Body.Stmts) == 1 && strings.HasPrefix(body, head[len("local "):]+" = "):
		return "local " + body, behind
	case e.goesOn && (binds != "" || f.scoped()):
		body = "do " + binds + body + " end"
	default:
		body = binds + body
	}
	return strings.TrimSpace(head + " " + body), behind
}

// closed reports whether f's last statement is a return.
func (f *function) closed() bool {
	_, closed := f.Body.Stmts[len(f.Body.Stmts)-1].(*parse.ReturnStmt)
	return closed
}

// scoped reports whether f's body has local names.
func (f *function) scoped() bool {
	return slices.ContainsFunc(f.Body.Stmts, func(s parse.Stmt) bool {
		switch s.(type) {
		case *parse.LocalStmt, *parse.LocalFuncStmt:
			return true
		}
		return false
	})
}

// leave returns what stands for a return of the function whose body is written.
func (p *printer) leave(r *parse.ReturnStmt, i int) (string, int) {
	behind := i + 1
	for !slices.Contains([]string{"end", "else", "elseif", "until", ";"}, p.unit.Tokens[behind].Text) {
		behind++
	}
	call := soleCall(r)
	var text string
	switch {
	case p.inPlace[call] != nil:
		text, _ = p.replaced(call, exit{goesOn: true, targets: p.exit.targets})
	case len(r.Values) > 0:
		text = strings.Join(p.exit.targets, ", ") + " = " + p.span(i+1, behind)
	case len(p.exit.targets) > 0 && !p.exit.fresh:
		text = strings.Join(p.exit.targets, ", ") + " = nil"
	}
	if p.exit.early {
		text = strings.TrimSpace(text + " break")
	}
	return text, behind
}

// into returns a printer for the body of a function that stands instead of a call.
func (p *printer) into(f *function, call *parse.CallExpr, e exit) *printer {
	in := &printer{linker: p.linker, unit: f.unit, env: map[*parse.Var]word{}, f: f, exit: e}
	taken := slices.Clone(e.targets)
	for i, param := range f.Params {
		if w, ok := f.instead(p.unit, call, i, p.env); ok {
			in.env[param] = w
			taken = append(taken, w.text)
		}
	}
	for _, v := range f.unit.Vars {
		if _, given := in.env[v]; !given && f.declares(f.unit, v) && slices.Contains(taken, v.Name) {
			another := v.Name // that no file has
			for p.words[another] {
				another += "_"
			}
			in.env[v] = word{text: another}
		}
	}
	return in
}

// instead returns what can stand for a parameter in a call: a constant, or a name whose value stays.
func (f *function) instead(u *unit, call *parse.CallExpr, i int, env map[*parse.Var]word) (word, bool) {
	if len(f.Params[i].Writes) > 0 || i >= len(call.Args) {
		return word{}, false
	}
	switch arg := call.Args[i].(type) {
	case *parse.NameExpr:
		if arg.Var == nil || len(arg.Var.Writes) > 0 {
			return word{}, false
		}
		w, ok := env[arg.Var]
		if !ok {
			w = word{text: arg.Name}
		}
		return w, !w.constant || !f.prefixed(f.Params[i])
	case *parse.StringExpr, *parse.NumberExpr, *parse.BoolExpr, *parse.NilExpr:
		return word{oneLine(u.Tokens[u.token[arg.Pos().Offset]]), true}, !f.prefixed(f.Params[i])
	}
	return word{}, false
}

// prefixed reports whether a parameter is called or indexed: a constant in its place would need parentheses.
func (f *function) prefixed(param *parse.Var) bool {
	return slices.ContainsFunc(param.Reads, func(n *parse.NameExpr) bool {
		next := f.unit.Tokens[f.unit.token[n.P.Offset]+1]
		return next.Kind == parse.String || next.Kind == parse.Op && strings.Contains("( [ { . :", next.Text)
	})
}

// binds returns the declaration of the parameters for which nothing stands.
func (p *printer) binds(in *printer, f *function, call *parse.CallExpr) string {
	var names, values, missing []string
	for i, param := range f.Params {
		switch _, given := f.instead(p.unit, call, i, p.env); {
		case given:
		case i < len(call.Args):
			names, values = append(names, in.nameOf(param)), append(values, p.span(p.unit.argument(call, i)))
		default:
			missing = append(missing, in.nameOf(param))
		}
	}
	text := ""
	if len(names) > 0 {
		text = "local " + strings.Join(names, ", ") + " = " + strings.Join(values, ", ") + " "
	}
	if len(missing) > 0 {
		text += "local " + strings.Join(missing, ", ") + " "
	}
	return text
}
