package golua

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/types"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	bySum    = regexp.MustCompile(`(?i)^evalsha(?:ro|_ro|ctx|context)?$`)
	sums     = regexp.MustCompile(`"(?i:EVALSHA)(?:_RO)?"`)
	forwards = regexp.MustCompile(`(?i)^func (?:\([^)]*\) )?evalsha`)
	lost     = regexp.MustCompile(`(?i)noscript|no matching script|script.?exists`)
	whole    = regexp.MustCompile(`\.Eval(?:RO|Ctx|Context)?\(|"(?i:EVAL)"`)
	loading  = regexp.MustCompile(`Load\w*\(|"(?i:LOAD)"`)
	once     = regexp.MustCompile(`== ""|!\w*(?i:loaded)`)
	runs     = regexp.MustCompile(`^(?:Run|Eval|Exec)`)
	cluster  = regexp.MustCompile(`luster`) // with and without a capital; without a prefix to look for, a search takes long
	single   = regexp.MustCompile(`redis/v\d+\.(?:Client|Conn)$`)
	aTag     = regexp.MustCompile(`\{([^{}]+)\}`)
	tagged   = regexp.MustCompile("\\{%|\\{[\"`] *\\+|[\"`:]\\{[\\w%]")
	anyNodes = regexp.MustCompile(`/(?:rueidis|valkey-go)\b`)
	resends  = regexp.MustCompile(`MaxRetries: *(?:[1-9]|[a-zA-Z])`)
	tries    = regexp.MustCompile(`(?s)^for\b[^{]*\b(?i:try|tries|attempts?|retr\w+)\b|^for\b.*err == nil[^{\n]*\{\s*(?:return|break)\b`)
	retrying = regexp.MustCompile(`(?i)retr|attempt|backoff`)
	prefixes = regexp.MustCompile(`(?i)prefix|tag|slot|namespace`)
)

// faults finds what is wrong in a call of a declaration, whatever the script is.
func (r *reader) faults(call *ast.CallExpr, within ast.Decl) {
	switch name := lastName(call.Fun); {
	case bySum.MatchString(name) || slices.Contains(senders, name) && sums.MatchString(r.code(call)):
		if code := r.code(within); r.ofClient(call.Fun) && !forwards.MatchString(code) && !r.has(whole) && r.loses(code) {
			r.fault(call, "command", "after a restart or a failover this fails with NOSCRIPT, and nothing here loads the script then: call Run, or Eval")
		}
	case name == "Run" || name == "RunRO":
		if slices.ContainsFunc(call.Args[:min(2, len(call.Args))], r.isPipe) && r.ofClient(call.Fun) && r.loses(r.code(within)) {
			r.fault(call, "command", "in a pipeline Run is EVALSHA alone, which fails with NOSCRIPT if the server has not the script: call Eval here, or Load before")
		}
	}
}

// ofClient reports whether a method may be one of a client: it is, or its type is not known.
func (r *reader) ofClient(fn ast.Expr) bool {
	of := r.own(fn)
	return of == nil || client.MatchString(method.FindString(fmt.Sprint(of)))
}

func (r *reader) fault(n ast.Node, rule, msg string) {
	if at := r.position(n.Pos()); !strings.HasSuffix(at.Filename, "_test.go") {
		r.Unseen = append(r.Unseen, Unseen{At: at, In: []string{at.Filename}, Why: msg, Rule: rule})
	}
}

// loses reports whether nothing in the package asks if the server has lost a script, and some code does not load it each time.
func (r *reader) loses(code string) bool {
	return !r.has(lost) && (!loading.MatchString(code) || once.MatchString(code))
}

// has reports whether the code of the package, without its tests, has something.
func (r *reader) has(what *regexp.Regexp) (has bool) {
	for path, src := range r.sources {
		has = has || !strings.HasSuffix(path, "_test.go") && what.Match(src)
	}
	return has
}

func (r *reader) isPipe(e ast.Expr) bool {
	return strings.HasSuffix(r.typeOf(e), ".Pipeliner") ||
		slices.ContainsFunc(r.origins(e), func(e ast.Expr) bool { return strings.HasSuffix(lastName(e), "Pipeline") })
}

func (r *reader) typeOf(e ast.Expr) string { return types.TypeString(r.TypeOf(e), nil) }

// scattered finds a key that is on another node than the first, where the package has a client for a cluster: they have no
// common hash tag, nor a part that may have one.
func (r *reader) scattered(call *ast.CallExpr) {
	_, keys, _ := r.parts(call)
	var apart ast.Expr
	first := ""
	for _, e := range keys {
		if r.code(e) == strconv.Itoa(len(keys)) {
			r.fault(e, "key", "this number is a key here, as NewScript has got it already: leave it out")
		}
		from := append(r.origins(e), e)[0]
		t, _ := r.text(from)
		slot := string(t.bytes)
		if tag := aTag.FindStringSubmatch(slot); tag != nil {
			slot = tag[1]
		} else if len(t.pieces) == 0 || t.holes && (r.has(tagged) || strings.HasPrefix(slot, Hole) && prefixes.MatchString(r.code(from))) {
			return
		} else if t.holes {
			slot = strings.ReplaceAll(r.code(from), " ", "")
		}
		if first = cmp.Or(first, slot); slot != first {
			apart = from
		}
	}
	if apart == nil || !runs.MatchString(lastName(call.Fun)) ||
		slices.ContainsFunc(call.Args[:min(2, len(call.Args))], func(e ast.Expr) bool { return single.MatchString(r.typeOf(e)) }) {
		return
	}
	rule := map[bool]string{true: "key", false: "note"}[r.has(cluster)]
	if rule == "key" || anyNodes.MatchString(fmt.Sprint(r.own(call.Fun))) {
		r.fault(apart, rule, "a cluster has these keys on different nodes, and refuses the call with CROSSSLOT: give all one {tag}")
	}
}

// varied returns what makes another text of one with each value that a function gets, nil if nothing does. A field is one value.
func (r *reader) varied(e ast.Expr, depth int) (found ast.Node) {
	ast.Inspect(e, func(n ast.Node) bool {
		name, _ := n.(*ast.Ident)
		if name == nil {
			of, ok := n.(*ast.SelectorExpr)
			if ok {
				_, ok = r.ObjectOf(of.Sel).(*types.Var)
			}
			return !ok && found == nil
		}
		v, ok := r.ObjectOf(name).(*types.Var)
		values := r.values[v]
		if ok && depth > 0 && (v.Kind() == types.LocalVar && values != nil || v.Kind() == types.ParamVar) && (values == nil ||
			slices.ContainsFunc(values, func(e ast.Expr) bool { return e == nil || r.varied(e, depth-1) != nil })) {
			found = name
		}
		return true
	})
	return found
}
