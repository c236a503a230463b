package check

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// keyArguments checks the words of a call that stand where the command has keys.
func (c *checker) keyArguments(call commandCall, cmd *command) {
	for _, s := range cmd.specs {
		for _, i := range keyPlaces(call, s) {
			c.keyArgument(call, cmd, i)
		}
	}
}

func (c *checker) keyArgument(call commandCall, cmd *command, i int) {
	e := call.words[i]
	shown := strings.ToUpper(strings.ReplaceAll(cmd.name, "|", " "))
	if !c.isKeyAt(call, i) {
		c.find(e.Pos(), Key, "%s takes a key here, and this is not surely one that is declared", shown)
		return
	}
	b := c.declaredKey(e, maxNames)
	if b == nil || b.KeyKind == "any" || len(cmd.kinds) == 0 || slices.Contains(cmd.kinds, b.KeyKind) {
		return
	}
	// Sorted-set algebra takes sets too.
	if b.KeyKind == "set" && slices.Contains(setAlgebra, cmd.name) && i > 1 {
		return
	}
	c.find(e.Pos(), Kind, "%s is for a %s, and %s is declared a %s", shown,
		strings.Join(cmd.kinds, " or "), b.Name, b.KeyKind)
}

var setAlgebra = []string{
	"zunionstore", "zinterstore", "zdiffstore", "zunion", "zinter", "zdiff", "zintercard",
}

// maxNames is how many names are followed from one to the next.
const maxNames = 100

// keyPlaces returns which words of a call are keys. A last word that stands for many values is
// among them if every word from it on is a key.
func keyPlaces(call commandCall, s spec) []int {
	start := s.index
	if s.keyword != "" {
		start = findKeyword(call, s)
	}
	known := len(call.words)
	if call.open {
		known--
	}
	switch {
	case start <= 0 || start > known || start == len(call.words):
		return nil
	case s.keynum:
		return countedKeys(call, s, start, known)
	case s.last >= 0:
		return steps(start, min(start+s.last, len(call.words)-1), s.step)
	case !call.open && s.limit > 1:
		return steps(start, start+(known-start)/s.limit+s.last, s.step)
	case !call.open:
		return steps(start, known+s.last, s.step)
	case s.limit > 1 || s.step > 1 || s.last < -1:
		return nil // where the keys end is not known
	}
	return steps(start, len(call.words)-1, s.step)
}

// countedKeys returns the keys of a call that tells their number.
func countedKeys(call commandCall, s spec, start, known int) []int {
	at, first := start+s.numAt, start+s.firstKey
	if at >= known || first >= len(call.words) {
		return nil
	}
	if number, ok := call.words[at].(*parse.NumberExpr); ok {
		n, err := strconv.Atoi(number.Text)
		if err != nil || n <= 0 {
			return nil
		}
		return steps(first, min(first+(n-1)*s.step, known-1), s.step)
	}
	if text, ok := call.words[at].(*parse.StringExpr); ok {
		n, err := strconv.Atoi(text.Value)
		if err != nil || n <= 0 {
			return nil
		}
		return steps(first, min(first+(n-1)*s.step, known-1), s.step)
	}
	// There is one at least.
	return []int{first}
}

func steps(from, to, step int) []int {
	var all []int
	for i := from; i <= to; i += max(step, 1) {
		all = append(all, i)
	}
	return all
}

// findKeyword returns the place behind a literal keyword, 0 if there is none.
func findKeyword(call commandCall, s spec) int {
	from := s.from
	if from < 0 {
		return 0 // searched from the end; only MIGRATE, which scripts cannot use well
	}
	for i := from; i < len(call.words); i++ {
		if text, ok := call.words[i].(*parse.StringExpr); ok && strings.EqualFold(text.Value, s.keyword) {
			return i + 1
		}
	}
	return 0
}

// declaredKey returns the binding that an expression surely is, if it is one alone. It follows so
// many names and no more, since names may be defined by each other.
func (c *checker) declaredKey(e parse.Expr, left int) *parse.Binding {
	if left == 0 {
		return nil
	}
	switch e := e.(type) {
	case *parse.ParenExpr:
		return c.declaredKey(e.X, left)
	case *parse.IndexExpr:
		return c.declaredKey(e.X, left)
	case *parse.BinaryExpr:
		if e.Op == ".." {
			return c.declaredKey(e.L, left)
		}
	case *parse.NameExpr:
		if e.Var == nil {
			return nil
		}
		if e.Var.Decl != nil {
			return e.Var.Decl
		}
		if sources := c.flow.sources[e.Var]; len(sources) == 1 && sources[0].in != nil {
			return c.declaredKey(sources[0].in, left-1)
		}
		if only, ok := c.flow.only(e.Var); ok && len(c.flow.stores[e.Var]) == 0 {
			return c.declaredKey(only, left-1)
		}
	}
	return nil
}
