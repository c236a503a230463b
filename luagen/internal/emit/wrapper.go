package emit

import (
	"fmt"
	"go/token"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// taken reports whether a wrapper's body needs an identifier for itself.
func taken(name string) bool { return slices.Contains(parse.Words("taken"), name) }

// local returns the Go name of a parameter. Declared names have no "_" in Go.
func local(name string) string {
	name = parse.GoName(name, false)
	if taken(name) || token.IsKeyword(name) {
		name += "_"
	}
	return name
}

// value returns the Go expression for a key or argument.
func (g *generator) value(b *parse.Binding) string {
	if g.structured() {
		return "p." + parse.GoName(b.Name, true)
	}
	return local(b.Name)
}

// wrapper writes the function.
func (g *generator) wrapper() {
	g.doc()
	g.signature()
	g.printf("c := scriptcall.Call{Script: &%sScript}\n", g.low)
	keys := g.words()
	run := "c.Run(ctx, r, " + keys + ", words)"
	switch returns := g.s.Header.Returns; len(returns) {
	case 0:
		g.printf("return %s.Err()\n}\n", run)
	case 1:
		g.printf("return scriptcall.Value%s(%s, %q, %s)\n}\n",
			form(returns[0].Type, "s"), run, returns[0].Name, g.decoder(returns[0].Type))
	default:
		g.tuple(run)
	}
}

// tuple writes the reading of several results.
func (g *generator) tuple(run string) {
	ok := ""
	if g.s.Header.None != nil {
		ok = "OK"
	}
	g.printf("out := %s.Tuple%s(%d)\n", run, ok, len(g.s.Header.Returns))
	g.read(g.s.Header.Returns, g.fn+"Result")
	g.printf("return scriptcall.All%s(result, out)\n}\n", ok)
}

// read writes the reading of results into a struct.
func (g *generator) read(results []*parse.Result, into string) {
	g.printf("var result %s\n", into)
	for _, r := range results {
		name := "result." + parse.GoName(r.Name, true)
		if r.Type.MayBeNone() {
			name += ", " + name + "OK"
		}
		g.printf("%s = scriptcall.Next%s(&out, %q, %s)\n", name, form(r.Type, "List"), r.Name, g.decoder(r.Type))
	}
}

// form returns which of the functions of package scriptcall reads a result of the type.
func form(t parse.Type, list string) string {
	switch {
	case t.List:
		return list
	case t.Optional:
		return "OK"
	}
	return ""
}

// decoder returns the Go expression for what decodes one value.
func (g *generator) decoder(t parse.Type) string {
	if t.List && t.Optional {
		t.List, t.Optional = false, false
		return "scriptcall.OrNil(" + g.decoder(t) + ")"
	}
	if t.Hash != nil {
		return g.hashName(t, false)
	}
	if t.Bounded {
		return "scriptcall.In(" + g.bounds(t) + ")." + types[t.Name].method
	}
	switch t.Name {
	case "string":
		return "backend.Reply.Text"
	case "bytes", "milliseconds", "seconds", "scores":
		return "scriptcall." + types[t.Name].method
	}
	return "backend.Reply." + types[t.Name].method
}

// bounds returns the bounds of a type as Go expressions.
func (g *generator) bounds(t parse.Type) string {
	least, most := strconv.FormatInt(t.Min, 10), strconv.FormatInt(t.Max, 10)
	if t.Min == math.MinInt64 {
		least = "math.MinInt64"
	}
	if t.Max == math.MaxInt64 {
		most = "math.MaxInt64"
	}
	g.imports["math"] = g.imports["math"] || strings.Contains(least+most, "math")
	return least + ", " + most
}

// signature writes the function's first line, or lines if one is too long.
func (g *generator) signature() {
	params := g.params()
	results := g.results()
	one := fmt.Sprintf("func %s(ctx context.Context, r backend.ScriptRunner, %s) %s {",
		g.fn, strings.Join(params, ", "), results)
	if len(one) <= columns {
		g.printf("%s\n", one)
		return
	}
	g.printf("func %s(\nctx context.Context, r backend.ScriptRunner,\n%s\n) %s {\n",
		g.fn, wrappedList(params, columns-8), results)
}

// params returns the parameters, those of one type in a row as "a, b T".
func (g *generator) params() []string {
	if g.structured() {
		return []string{"p " + g.fn + "Params"}
	}
	var params, names []string
	all := g.ordered()
	for i, b := range all {
		names = append(names, local(b.Name))
		kind := g.goType(b.Type, true)
		if i+1 < len(all) && g.goType(all[i+1].Type, true) == kind {
			continue
		}
		params = append(params, strings.Join(names, ", ")+" "+kind)
		names = nil
	}
	return params
}

// results returns the function's result list.
func (g *generator) results() string {
	returns := g.s.Header.Returns
	switch {
	case len(returns) == 0:
		return "error"
	case g.s.Header.None != nil:
		return "(_ " + g.fn + "Result, ok bool, err error)"
	case len(returns) > 1:
		return "(" + g.fn + "Result, error)"
	}
	name := parse.GoName(returns[0].Name, false)
	kind := g.goType(returns[0].Type, false)
	hidden := taken(name) || slices.ContainsFunc(g.s.Header.Bindings, func(b *parse.Binding) bool {
		return parse.GoName(b.Name, false) == name
	})
	all := []string{name + " " + kind, "ok bool", "err error"}
	if hidden {
		all = []string{kind, "bool", "error"}
	}
	if !returns[0].Type.MayBeNone() {
		all = slices.Delete(all, 1, 2)
	}
	return "(" + strings.Join(all, ", ") + ")"
}

// sharded returns the Go expression for the command that may be SPUBLISH: "" is none.
func (g *generator) sharded() string {
	for _, b := range g.s.Header.Bindings {
		if b.Kind == parse.Command && slices.Contains(b.Choices, "spublish") {
			return g.value(b)
		}
	}
	if saysSpublish(g.s) {
		return `"SPUBLISH"`
	}
	return ""
}

// saysSpublish reports whether a script, or a file that it includes, has SPUBLISH written out.
func saysSpublish(s *parse.Script) bool {
	for _, inc := range s.Header.Includes {
		if inc.Script != nil && saysSpublish(inc.Script) {
			return true
		}
	}
	return slices.ContainsFunc(s.Tokens, func(tok parse.Token) bool {
		return tok.Kind == parse.String && strings.EqualFold(tok.Value, "spublish")
	})
}

// hashName returns the name of the struct for a result that is a hash, if exported, or of the function that decodes it.
func (g *generator) hashName(t parse.Type, exported bool) string {
	script := g.low
	if exported {
		script = g.fn
	}
	return script + parse.GoName(t.Hash.Result, true)
}

// hashTypes writes a struct, and what decodes it, for each result that is a hash.
func (g *generator) hashTypes() {
	for _, r := range g.s.Header.Returns {
		if r.Type.Hash != nil {
			g.resultStruct(g.hashName(r.Type, true), "has fields of the hash "+r.Type.Name, r.Type.Hash.Fields)
			g.hashDecoder(r.Type)
		}
	}
}

// hashDecoder writes the function that reads the hash from a reply of HGETALL, or from the values of HMGET.
func (g *generator) hashDecoder(t parse.Type) {
	name := g.hashName(t, true)
	g.printf("func %s(reply backend.Reply) (%s, error) {\nout := ", g.hashName(t, false), name)
	if t.Hash.Listed {
		g.printf("scriptcall.Listed(reply, %d)", len(t.Hash.Fields))
	} else {
		g.printf("scriptcall.Fields(reply, \"%s\")", strings.Join(t.Hash.Names(), `", "`))
	}
	if t.Optional {
		g.printf(".OrNone()")
	}
	g.printf("\n")
	g.read(t.Hash.Fields, name)
	g.printf("return scriptcall.All(result, out)\n}\n\n")
}
