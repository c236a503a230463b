package flow

import (
	"strconv"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// Place is a word of a call that must have a quality.
type Place struct {
	Word    int
	Quality quality
}

// Places returns the words of a call that must be keys, or channels that are not written out.
func Places(call CommandCall, cmd *Command) []Place {
	var all []Place
	for _, s := range cmd.Specs {
		for _, i := range keyPlaces(call, s) {
			all = append(all, Place{i, AKey})
		}
	}
	if (cmd.Name == "publish" || cmd.Name == "spublish") && len(call.Words) > 1 {
		if _, literal := call.Words[1].(*parse.StringExpr); !literal {
			all = append(all, Place{1, AChannel})
		}
	}
	return all
}

// keyPlaces returns which words of a call are keys, among them a last one that stands for many values if all these are keys.
func keyPlaces(call CommandCall, s spec) []int {
	start := s.Index
	// From the end, which has a negative place, it is searched for MIGRATE alone, which scripts cannot use well.
	for i := s.from; s.keyword != "" && start == 0 && i >= 0 && i < len(call.Words); i++ {
		if IsLiteral(call.Words[i], s.keyword) {
			start = i + 1
		}
	}
	known := len(call.Words)
	if call.Open {
		known--
	}
	switch {
	case start <= 0 || start > known || start == len(call.Words):
		return nil
	case s.keynum:
		return countedKeys(call, s, start, known)
	case s.last >= 0:
		return steps(start, min(start+s.last, len(call.Words)-1), s.step)
	case !call.Open && s.limit > 1:
		return steps(start, start+(known-start)/s.limit+s.last, s.step)
	case !call.Open:
		return steps(start, known+s.last, s.step)
	case s.limit > 1 || s.step > 1 || s.last < -1:
		return nil // where the keys end is not known
	}
	return steps(start, len(call.Words)-1, s.step)
}

// countedKeys returns the keys of a call that has their number as an argument.
func countedKeys(call CommandCall, s spec, start, known int) []int {
	at, first := start+s.numAt, start+s.firstKey
	if at >= known || first >= len(call.Words) {
		return nil
	}
	if text, ok := ConstantText(call.Words[at]); ok {
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

// DeclaredKey returns the binding that an expression certainly is, if it is one alone. Names may be defined by each other.
func (c *code) DeclaredKey(e parse.Expr) *parse.Binding {
	for range MaxNames {
		x := VarOf(Unparen(e))
		if x != nil && len(c.Flow.Stores[x]) > 0 {
			return nil
		}
		switch inner := c.Origin(e).(type) {
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
			sources := c.Flow.Sources[inner.Var]
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
