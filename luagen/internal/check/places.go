package check

import (
	"strconv"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// place is a word of a call that must have a quality.
type place struct {
	word    int
	quality quality
}

// places returns the words of a call that must be keys, or channels. A channel that is written out
// is one: it needs no declaration to be known.
func places(call commandCall, cmd *command) []place {
	var all []place
	for _, s := range cmd.specs {
		for _, i := range keyPlaces(call, s) {
			all = append(all, place{i, aKey})
		}
	}
	if (cmd.name == "publish" || cmd.name == "spublish") && len(call.words) > 1 {
		if _, literal := call.words[1].(*parse.StringExpr); !literal {
			all = append(all, place{1, aChannel})
		}
	}
	return all
}

var setAlgebra = []string{
	"zunionstore", "zinterstore", "zdiffstore", "zunion", "zinter", "zdiff", "zintercard",
}

// maxCallers is how many functions a key is followed to where they are called.
const maxCallers = 2

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

// countedKeys returns the keys of a call that has their number as an argument.
func countedKeys(call commandCall, s spec, start, known int) []int {
	at, first := start+s.numAt, start+s.firstKey
	if at >= known || first >= len(call.words) {
		return nil
	}
	if text, ok := constantText(call.words[at]); ok {
		n, err := strconv.Atoi(text)
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

// findKeyword returns the place behind a literal keyword, 0 if there is none. It is searched from the end, which has a
// negative place, for MIGRATE alone, which scripts cannot use well.
func findKeyword(call commandCall, s spec) int {
	for i := s.from; i >= 0 && i < len(call.words); i++ {
		if isLiteral(call.words[i], s.keyword) {
			return i + 1
		}
	}
	return 0
}

// declaredKey returns the binding that an expression certainly is, if it is one alone. It follows so
// many names and no more, since names may be defined by each other.
func (c *code) declaredKey(e parse.Expr) *parse.Binding {
	for range maxNames {
		x := varOf(unparen(e))
		if x != nil && len(c.flow.stores[x]) > 0 {
			return nil
		}
		switch inner := c.origin(e).(type) {
		case *parse.IndexExpr:
			e = inner.X
		case *parse.BinaryExpr:
			if e = inner.L; inner.Op != ".." {
				return nil
			}
		case *parse.NameExpr:
			if inner.Var == nil {
				return nil
			}
			sources := c.flow.sources[inner.Var]
			if inner.Var.Decl != nil || len(sources) != 1 || sources[0].in == nil {
				return inner.Var.Decl
			}
			e = sources[0].in
		default:
			return nil
		}
	}
	return nil
}
