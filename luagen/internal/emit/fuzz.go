package emit

import (
	"fmt"
	"math"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// Fuzz returns the Go file of a fuzz target for the function of a script.
func Fuzz(s *parse.Script, pkg string) ([]byte, error) {
	g := newGenerator(s)
	g.imports["testing"] = true
	return g.file("fuzz", pkg, "hasptest")
}

// Blanks returns what stands for the results of the function in a fuzz target.
func (g *generator) Blanks() string {
	return strings.Repeat("_, ", strings.Count(newGenerator(g.Script).results(), ",")) // Nothing is imported for results.
}

// Draw returns the expression for a key or argument of a fuzz target.
func (g *generator) Draw(b *parse.Binding) string {
	t, one := b.Type, types[b.Type.Name].drawn
	switch {
	case b.Choices != nil:
		one = `in.OneOf("` + strings.Join(b.Choices, `", "`) + `")`
	case b.Kind != parse.Arg:
		one = fmt.Sprintf("in.Key(%q)", b.Name)
	case !t.Bounded && t.IsTime():
		t.Min, t.Max = 1, math.MaxInt32 // An expiry of 0 deletes a key, or is refused.
	case !t.Bounded:
		t.Min, t.Max = math.MinInt64, math.MaxInt64
	}
	if before, behind, found := strings.Cut(one, "%"); found {
		one = before + g.bounds(t) + behind
	}
	if strings.Contains(one, "time.") {
		g.imports["time"] = true
	}
	switch {
	case t.List:
		t.List = false
		return fmt.Sprintf("hasptest.Several(n, func() %s { return %s })", g.Type(t, true), one)
	case t.Optional:
		return "hasptest.Maybe(in, " + one + ")"
	}
	return one
}
