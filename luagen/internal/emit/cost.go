package emit

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// cost is how many commands a piece of a script sends at most.
type cost struct {
	fixed   int            // however long the lists are
	per     map[string]int // for each element of a declared list
	unknown bool           // in a loop or recursion whose length the header does not say
}

func (c cost) zero() bool { return c.fixed == 0 && len(c.per) == 0 && !c.unknown }

// and returns the cost of both pieces, one after the other.
func (c cost) and(d cost) cost {
	return c.join(d, func(a, b int) int { return a + b })
}

// or returns the cost of the dearer piece, where one of the two runs.
func (c cost) or(d cost) cost {
	return c.join(d, func(a, b int) int { return max(a, b) })
}

func (c cost) join(d cost, by func(a, b int) int) cost {
	sum := cost{by(c.fixed, d.fixed), map[string]int{}, c.unknown || d.unknown}
	for _, m := range []map[string]int{c.per, d.per} {
		for list := range m {
			sum.per[list] = by(c.per[list], d.per[list])
		}
	}
	return sum
}

// maxCost bounds what is counted; beyond it the number says nothing any more.
const maxCost = 1_000_000

// counter counts the commands of a script.
type counter struct {
	aliases map[*parse.Var]bool            // names of redis.call
	bodies  map[*parse.Var]*parse.FuncExpr // of local functions
	known   map[*parse.FuncExpr]bool       // those of bodies
	shared  map[string]*parse.FuncExpr     // of included functions
	open    map[*parse.FuncExpr]cost       // functions that are known, or being looked at
	names   map[string]bool                // the commands, in capitals
	lists   bool                           // a command takes a list whole
}

// costOf returns the cost of a script, and what counted it.
func costOf(s *parse.Script) (cost, *counter) {
	c := &counter{
		aliases: map[*parse.Var]bool{}, bodies: map[*parse.Var]*parse.FuncExpr{},
		known:  map[*parse.FuncExpr]bool{},
		shared: map[string]*parse.FuncExpr{}, open: map[*parse.FuncExpr]cost{},
		names: map[string]bool{},
	}
	c.include(s)
	total := c.block(s.Body)
	if total.fixed > maxCost {
		total.unknown = true
	}
	return total, c
}

func (c *counter) include(s *parse.Script) {
	for _, inc := range s.Header.Includes {
		if inc.Script == nil || inc.Script.Body == nil {
			continue
		}
		c.include(inc.Script)
		for _, stmt := range inc.Script.Body.Stmts {
			if f, ok := stmt.(*parse.LocalFuncStmt); ok {
				c.shared[f.Var.Name] = f.Func
				c.bodies[f.Var], c.known[f.Func] = f.Func, true
			}
		}
	}
}

func (c *counter) block(b *parse.Block) cost { return c.stmts(b.Stmts) }

func (c *counter) stmts(list []parse.Stmt) cost {
	var total cost
	for i, stmt := range list {
		if s, ok := stmt.(*parse.IfStmt); ok && slices.ContainsFunc(parse.Blocks(s), returns) {
			return total.and(c.branch(s, list[i+1:]))
		}
		total = total.and(c.stmt(stmt))
	}
	return total
}

// branch returns the cost of an if, some of whose blocks return, and of what follows it.
func (c *counter) branch(s *parse.IfStmt, rest []parse.Stmt) cost {
	var conditions, leaving, staying cost
	for _, e := range s.Conds {
		conditions = conditions.and(c.expr(e))
	}
	for _, b := range parse.Blocks(s) {
		if returns(b) {
			leaving = leaving.or(c.block(b))
		} else {
			staying = staying.or(c.block(b))
		}
	}
	return conditions.and(leaving.or(staying.and(c.stmts(rest))))
}

func returns(b *parse.Block) bool {
	if len(b.Stmts) == 0 {
		return false
	}
	_, ok := b.Stmts[len(b.Stmts)-1].(*parse.ReturnStmt)
	return ok
}

func (c *counter) stmt(stmt parse.Stmt) cost {
	switch s := stmt.(type) {
	case *parse.LocalStmt:
		c.learn(s)
	case *parse.LocalFuncStmt:
		c.bodies[s.Var], c.known[s.Func] = s.Func, true
	}
	var own cost
	for _, e := range parse.Exprs(stmt) {
		own = own.and(c.expr(e))
	}
	var dearest, all cost
	for _, b := range parse.Blocks(stmt) {
		inner := c.block(b)
		dearest, all = dearest.or(inner), all.and(inner)
	}
	switch s := stmt.(type) {
	case *parse.IfStmt:
		return own.and(dearest)
	case *parse.WhileStmt, *parse.RepeatStmt:
		return repeated(own.and(all))
	case *parse.NumForStmt:
		return own.and(c.counted(s, all))
	case *parse.GenForStmt:
		return own.and(times(c.listOf(s), all))
	}
	return own.and(all)
}

// learn notes names for redis.call and for functions.
func (c *counter) learn(s *parse.LocalStmt) {
	for i, v := range s.Vars {
		if i >= len(s.Values) {
			return
		}
		switch value := s.Values[i].(type) {
		case *parse.FuncExpr:
			c.bodies[v], c.known[value] = value, true
		default:
			c.aliases[v] = c.isCall(value)
		}
	}
}

// counted returns the cost of a numeric loop with the given body.
func (c *counter) counted(s *parse.NumForStmt, body cost) cost {
	from, to := number(s.From), number(s.To)
	length, isLength := s.To.(*parse.UnaryExpr)
	switch {
	case s.Step == nil && from > 0 && isLength && length.Op == "#":
		return times(listName(length.X), body)
	case s.Step == nil && from > 0 && to >= from && to-from < maxCost && len(body.per) == 0:
		n := to - from + 1
		if body.fixed < maxCost {
			return cost{fixed: n * body.fixed, unknown: body.unknown}
		}
	}
	return repeated(body)
}

// number returns the value of a small positive whole numeral, or 0.
func number(e parse.Expr) int {
	if n, ok := e.(*parse.NumberExpr); ok {
		if value, err := strconv.Atoi(n.Text); err == nil {
			return value
		}
	}
	return 0
}

// listOf returns the declared list that a loop goes through by ipairs or pairs, or "".
func (c *counter) listOf(s *parse.GenForStmt) string {
	call, ok := s.Values[0].(*parse.CallExpr)
	if !ok || len(s.Values) != 1 || len(call.Args) != 1 {
		return ""
	}
	name, ok := call.Fn.(*parse.NameExpr)
	if !ok || name.Var != nil || name.Name != "ipairs" && name.Name != "pairs" {
		return ""
	}
	return listName(call.Args[0])
}

// listName returns the name of a declared list.
func listName(e parse.Expr) string {
	n, ok := e.(*parse.NameExpr)
	if !ok || n.Var == nil || n.Var.Decl == nil || !n.Var.Decl.Type.List {
		return ""
	}
	if n.Var.Decl.Per != "" {
		return n.Var.Decl.Per
	}
	return n.Name
}

// times returns the cost of a loop through a list.
func times(list string, body cost) cost {
	if list == "" || len(body.per) > 0 || body.unknown || body.zero() {
		return repeated(body)
	}
	return cost{per: map[string]int{list: body.fixed}}
}

// repeated returns the cost of a loop of unknown length.
func repeated(body cost) cost {
	return cost{unknown: !body.zero()}
}

// expr returns the cost of an expression; functions cost when they are called.
func (c *counter) expr(e parse.Expr) cost {
	var total cost
	called := map[parse.Expr]bool{}
	parse.Walk(e, func(e parse.Expr) {
		switch e := e.(type) {
		case *parse.CallExpr:
			called[e.Fn] = true
			if isName(e.Fn, "pcall") && len(e.Args) > 0 {
				called[e.Args[0]] = true
				total = total.and(c.run(e.Args[0]))
			}
			total = total.and(c.call(e))
		case *parse.NameExpr, *parse.FuncExpr:
			if !called[e] { // passed on: how often it is called is unknown
				total = total.and(repeated(c.run(e)))
			}
		}
	})
	return total
}

// run returns the cost of a call of e, if that is a function of the script's own.
func (c *counter) run(e parse.Expr) cost {
	var body *parse.FuncExpr
	switch e := e.(type) {
	case *parse.ParenExpr:
		return c.run(e.X)
	case *parse.FuncExpr:
		if c.known[e] {
			return cost{} // its declaration
		}
		body = e
	case *parse.NameExpr:
		if body = c.bodies[e.Var]; body == nil && e.Var != nil && e.Var.Kind == parse.IncludedVar {
			body = c.shared[e.Name]
		}
	}
	if body == nil {
		return cost{}
	}
	if known, ok := c.open[body]; ok {
		return known
	}
	c.open[body] = cost{unknown: true} // until it is known: recursion
	c.open[body] = c.block(body.Body)
	return c.open[body]
}

func (c *counter) call(e *parse.CallExpr) cost {
	words := e.Args
	isPcall := len(words) > 0 && isName(e.Fn, "pcall") && c.isCall(words[0])
	if isPcall {
		words = words[1:]
	}
	if isPcall || e.Method == "" && c.isCall(e.Fn) {
		c.note(words)
		return cost{fixed: 1}
	}
	return c.run(e.Fn)
}

// note notes the commands of a call.
func (c *counter) note(words []parse.Expr) {
	if len(words) == 0 {
		return
	}
	parse.Walk(words[0], func(e parse.Expr) {
		switch e := e.(type) {
		case *parse.StringExpr:
			c.names[strings.ToUpper(e.Value)] = true
		case *parse.NameExpr:
			if e.Var != nil && e.Var.Decl != nil {
				for _, choice := range e.Var.Decl.Choices {
					c.names[strings.ToUpper(choice)] = true
				}
			}
		}
	})
	last, ok := words[len(words)-1].(*parse.CallExpr)
	c.lists = c.lists || ok && (isName(last.Fn, "unpack"))
}

// isCall reports whether e is redis.call or redis.pcall, or a name for it.
func (c *counter) isCall(e parse.Expr) bool {
	switch e := e.(type) {
	case *parse.ParenExpr:
		return c.isCall(e.X)
	case *parse.NameExpr:
		return e.Var != nil && c.aliases[e.Var]
	case *parse.IndexExpr:
		key, ok := e.Key.(*parse.StringExpr)
		return ok && (key.Value == "call" || key.Value == "pcall") &&
			(isName(e.X, "redis") || isName(e.X, "server"))
	}
	return false
}

func isName(e parse.Expr, global string) bool {
	n, ok := e.(*parse.NameExpr)
	return ok && n.Var == nil && n.Name == global
}

// The commands that take longer the more their key holds, or the more they touch, by what the
// servers' manuals say. Those of both lists are left to the second.
const (
	logarithmic = "ZADD ZINCRBY ZRANK ZREVRANK ZREM ZCOUNT ZLEXCOUNT ZPOPMIN ZPOPMAX GEOADD"
	linear      = "LRANGE LREM LINSERT LPOS LTRIM LINDEX LSET SMEMBERS SINTER SUNION SDIFF SINTERSTORE " +
		"SUNIONSTORE SDIFFSTORE HGETALL HKEYS HVALS ZRANGE ZRANGEBYSCORE ZRANGEBYLEX ZREVRANGE " +
		"ZREVRANGEBYSCORE ZRANGESTORE ZREMRANGEBYRANK ZREMRANGEBYSCORE ZREMRANGEBYLEX ZUNION ZINTER " +
		"ZDIFF ZUNIONSTORE ZINTERSTORE ZDIFFSTORE XRANGE XREVRANGE XREAD XTRIM SORT KEYS DEL GETRANGE " +
		"BITCOUNT BITPOS BITOP SRANDMEMBER HRANDFIELD"
)

// complexity returns what a script costs: what its author says in a paragraph that begins with
// "Complexity:", else what its calls and loops show.
func complexity(s *parse.Script) string {
	for _, paragraph := range paragraphs(s.Header.Prose) {
		if text, ok := strings.CutPrefix(paragraph, complexityMark); ok {
			return strings.TrimSpace(text)
		}
	}
	total, c := costOf(s)
	text := total.String()
	if c.lists {
		text += "; a command that takes a whole list is as long as the list"
	}
	text += c.slow(logarithmic, "in the logarithm of what its key holds")
	return text + c.slow(linear, "with the number of elements that it goes through") + "."
}

const complexityMark = "Complexity:"

// slow says which of the noted commands take longer than a moment.
func (c *counter) slow(list, how string) string {
	var found []string
	for _, name := range strings.Fields(list) {
		if c.names[name] {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	switch len(found) {
	case 0:
		return ""
	case 1:
		return "; " + found[0] + " grows " + how
	}
	return "; " + strings.Join(found, ", ") + " each grow " + how
}

// String says how many commands are sent.
func (c cost) String() string {
	var parts []string
	if c.fixed > 0 {
		parts = append(parts, "at most "+count(c.fixed))
	}
	for _, list := range slices.Sorted(maps.Keys(c.per)) {
		if c.per[list] > 0 {
			parts = append(parts,
				fmt.Sprintf("at most %s for each element of `%s`", count(c.per[list]), list))
		}
	}
	if c.unknown {
		parts = append(parts, "a loop, which may send any number")
	}
	if len(parts) == 0 {
		return "No command"
	}
	text := strings.Join(parts, ", and ")
	return strings.ToUpper(text[:1]) + text[1:]
}

func count(n int) string {
	if n == 1 {
		return "1 command"
	}
	return strconv.Itoa(n) + " commands"
}
