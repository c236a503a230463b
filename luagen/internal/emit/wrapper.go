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

// local returns the Go name of a parameter. Declared names have no "_" in Go.
func local(name string) string {
	name = parse.GoName(name, false)
	if slices.Contains(parse.Words("taken"), name) || token.IsKeyword(name) {
		name += "_"
	}
	return name
}

// value returns the Go expression for a key or argument.
func (g *generator) value(b *parse.Binding) string {
	if g.Structured() {
		return "p." + parse.GoName(b.Name, true)
	}
	return local(b.Name)
}

// Decode returns the Go expression for what decodes one value.
func (g *generator) Decode(t parse.Type) string {
	if t.List && t.Optional {
		t.List, t.Optional = false, false
		return "scriptcall.OrNil(" + g.Decode(t) + ")"
	}
	if t.Hash != nil {
		return g.hashName(t, false)
	}
	if t.Bounded {
		return "scriptcall.In(" + g.bounds(t) + ")." + types[t.Name].method
	}
	return types[t.Name].decoder + types[t.Name].method
}

func (g *generator) bounds(t parse.Type) string {
	text := extremes.Replace(fmt.Sprintf("%d, %d", t.Min, t.Max))
	if strings.Contains(text, "math") {
		g.imports["math"] = true
	}
	return text
}

var extremes = strings.NewReplacer(strconv.FormatInt(math.MinInt64, 10), "math.MinInt64", strconv.FormatInt(math.MaxInt64, 10), "math.MaxInt64")

// Signature returns the function's first line, or lines if one is too long.
func (g *generator) Signature() string {
	params, results := g.params(), g.results()
	one := fmt.Sprintf("func %s(ctx context.Context, r backend.ScriptRunner, %s) %s {", g.Func, strings.Join(params, ", "), results)
	if len(one) <= columns {
		return one
	}
	return fmt.Sprintf("func %s(\nctx context.Context, r backend.ScriptRunner,\n%s\n) %s {", g.Func, wrappedList(params, columns-8), results)
}

// params returns the parameters, those of one type in a row as "a, b T".
func (g *generator) params() []string {
	if g.Structured() {
		return []string{"p " + g.Func + "Params"}
	}
	var params, names []string
	all := g.Ordered()
	for i, b := range all {
		names = append(names, local(b.Name))
		kind := g.Type(b.Type, true)
		if i+1 < len(all) && g.Type(all[i+1].Type, true) == kind {
			continue
		}
		params, names = append(params, strings.Join(names, ", ")+" "+kind), nil
	}
	return params
}

func (g *generator) results() string {
	returns := g.Header.Returns
	switch {
	case len(returns) == 0:
		return "error"
	case g.Header.None != nil:
		return "(_ " + g.Func + "Result, ok bool, err error)"
	case len(returns) > 1:
		return "(" + g.Func + "Result, error)"
	}
	name, kind := parse.GoName(returns[0].Name, false), g.Type(returns[0].Type, false)
	hidden := slices.Contains(parse.Words("taken"), name) || slices.ContainsFunc(g.Header.Bindings, func(b *parse.Binding) bool {
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
	for _, b := range g.Header.Bindings {
		if b.Kind == parse.Command && slices.Contains(b.Choices, "spublish") {
			return g.value(b)
		}
	}
	if saysSpublish(g.Script) {
		return `"SPUBLISH"`
	}
	return ""
}

// saysSpublish reports whether a script, or a file that it includes, has SPUBLISH written out.
func saysSpublish(s *parse.Script) bool {
	return slices.ContainsFunc(s.Header.Includes, func(inc *parse.Include) bool {
		return inc.Script != nil && saysSpublish(inc.Script)
	}) || slices.ContainsFunc(s.Tokens, func(tok parse.Token) bool {
		return tok.Kind == parse.String && strings.EqualFold(tok.Value, "spublish")
	})
}

// hashName returns the name of the struct for a result that is a hash, if exported, or of the function that decodes it.
func (g *generator) hashName(t parse.Type, exported bool) string {
	return parse.GoName(g.Name, exported) + parse.GoName(t.Hash.Result, true)
}

// words is what a wrapper's body begins with: checks, and one slice of keys and arguments; and how many of these are keys.
type words struct{ Lines, Keys string }

func (g *generator) Words() words {
	var parts, row, counts []string
	lines, fixed := "", 0
	for _, b := range g.Ordered() {
		if !b.Type.List && (b.Kind != parse.Key || !b.Type.Optional) {
			row = append(row, g.word(b))
			if b.Kind == parse.Key {
				fixed++
			}
			continue
		}
		checks, list := g.list(b)
		lines += checks
		parts, row = append(append(parts, slice(row)...), list), nil
		if b.Kind == parse.Key {
			counts = append(counts, "len("+list+")")
		}
	}
	parts = append(parts, slice(row)...)
	all := parts[0]
	if len(parts) > 1 {
		g.imports["slices"] = true
		all = "slices.Concat(" + strings.Join(parts, ", ") + ")"
	}
	if fixed > 0 || len(counts) == 0 {
		counts = append([]string{strconv.Itoa(fixed)}, counts...)
	}
	return words{lines + "words := " + all + "\n", strings.Join(counts, "+")}
}

// slice returns a slice of the words, on several lines if one is too long; none of no words.
func slice(row []string) []string {
	one := "[]string{" + strings.Join(row, ", ") + "}"
	switch {
	case len(row) == 0:
		return nil
	case len(one) <= columns-16:
		return []string{one}
	}
	return []string{"[]string{\n" + wrappedList(row, columns-15) + "\n}"}
}

// list returns the checks of a list's length, and the expression for its words.
func (g *generator) list(b *parse.Binding) (checks, list string) {
	v := g.value(b)
	if b.Kind == parse.Key && b.Type.Optional {
		return fmt.Sprintf("lastKey := scriptcall.OptionalKey(%s)\n", v), "lastKey"
	}
	if b == g.Header.Keys()[0] {
		checks = fmt.Sprintf("c.NotEmpty(%q, len(%s))\n", b.Name, v)
	}
	if b.Per != "" {
		per := slices.IndexFunc(g.Header.Bindings, func(other *parse.Binding) bool { return other.Name == b.Per })
		checks += fmt.Sprintf("c.SameLength(%q, len(%s), %q, len(%s))\n", b.Name, v, b.Per, g.value(g.Header.Bindings[per]))
	}
	if b.Type.Name == "string" {
		return checks, v
	}
	return checks, fmt.Sprintf("scriptcall.List(%q, %s, %s)", b.Name, v, g.encoder(b.Type))
}

// word returns the expression for the word of a key or argument that is no list.
func (g *generator) word(b *parse.Binding) string {
	v := g.value(b)
	switch {
	case b.Kind == parse.Key && b.Prefix:
		return fmt.Sprintf("c.Prefix(%q, %s)", b.Name, v)
	case b.Kind == parse.Command:
		return fmt.Sprintf("c.Command(%q, %s, \"%s\")", b.Name, v, strings.ToUpper(strings.Join(b.Choices, `", "`)))
	case b.Choices != nil:
		return fmt.Sprintf("c.OneOf(%q, %s, \"%s\")", b.Name, v, strings.Join(b.Choices, `", "`))
	case b.Kind == parse.Channel && g.sharded() != "":
		return g.channel(b)
	case b.Type.Name == "string":
		return v
	case b.Type.Optional:
		return fmt.Sprintf("scriptcall.Optional(%q, %s, %s)", b.Name, v, g.encoder(b.Type))
	}
	return fmt.Sprintf("%s(%q, %s)", g.encoder(b.Type), b.Name, v)
}

// channel is word for a channel of a script that may call SPUBLISH.
func (g *generator) channel(b *parse.Binding) string {
	method := "Channel"
	if b.Prefix {
		method = "ChannelPrefix"
	}
	key := g.value(g.Header.Keys()[0])
	if g.Header.Keys()[0].Type.List {
		key += "..."
	}
	return fmt.Sprintf("c.%s(%q, %s, %s, %s)", method, b.Name, g.value(b), g.sharded(), key)
}

// encoder returns the Go expression for what makes the word of one value.
func (g *generator) encoder(t parse.Type) string {
	if t.Bounded {
		return "c.In(" + g.bounds(t) + ")." + types[t.Name].method
	}
	return "c." + types[t.Name].method
}
