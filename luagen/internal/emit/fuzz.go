package emit

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// Fuzz returns the Go file of a fuzz target for the function of a script.
func Fuzz(s *parse.Script, pkg string) ([]byte, error) {
	g := newGenerator(s)
	g.imports["testing"] = true
	g.printf("// Fuzz%s calls [%s] with keys and arguments that the script declares.\n", g.fn, g.fn)
	g.printf("func Fuzz%s(f *testing.F) {\n", g.fn)
	g.printf("hasptest.FuzzScript(f, func(ctx context.Context, r backend.ScriptRunner, in *hasptest.Drawn) error {\n")
	if slices.ContainsFunc(s.Header.Bindings, func(b *parse.Binding) bool { return b.Type.List }) {
		g.printf("n := in.Int(0, 3)\n")
	}
	var params []string
	for _, b := range g.ordered() {
		name := ""
		if g.structured() {
			name = parse.GoName(b.Name, true) + ": "
		}
		params = append(params, name+g.draw(b))
	}
	all := strings.Join(params, ",\n")
	if g.structured() {
		all = g.fn + "Params{\n" + all + ",\n}"
	}
	blank := strings.Repeat("_, ", strings.Count(newGenerator(s).results(), ",")) // g needs no imports for results.
	g.printf("%serr := %s(ctx, r,\n%s)\nreturn err\n})\n}\n", blank, g.fn, all)
	return g.file(pkg, "hasptest")
}

// draw returns the expression for a key or argument of a fuzz target.
func (g *generator) draw(b *parse.Binding) string {
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
	g.imports["time"] = g.imports["time"] || strings.Contains(one, "time.")
	switch {
	case t.List:
		t.List = false
		return fmt.Sprintf("hasptest.Several(n, func() %s { return %s })", g.goType(t, true), one)
	case t.Optional:
		return "hasptest.Maybe(in, " + one + ")"
	}
	return one
}
