package emit

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// taken are the identifiers that a wrapper's body needs for itself.
var taken = map[string]bool{
	"ctx": true, "r": true, "p": true, "words": true, "keys": true, "reply": true, "err": true,
	"ok": true, "v": true, "text": true, "rest": true, "found": true,
	"backend": true, "context": true, "fmt": true, "math": true, "strconv": true,
	"strings": true, "time": true,
	"append": true, "bool": true, "byte": true, "error": true, "false": true, "float64": true,
	"int": true, "int64": true, "len": true, "make": true, "nil": true, "string": true,
	"true": true,
}

// local returns the Go name of a parameter. Declared names have no "_" in Go.
func local(name string) string {
	name = parse.GoName(name, false)
	if taken[name] {
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
	for _, b := range g.ordered() {
		g.validate(b)
	}
	g.validateSlots()
	keys, args := g.words()
	run := fmt.Sprintf("r.Run(ctx, &%sScript, %s, %s)", g.low, keys, args)
	if len(g.s.Header.Returns) == 0 {
		g.printf("_, err := %s\nreturn err\n}\n\n", run)
		return
	}
	g.printf("reply, err := %s\nif err != nil {\nreturn %s\n}\n", run, g.zeros("err"))
	g.printf("return decode%s(reply)\n}\n\n", g.fn)
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
	g.printf("func %s(\nctx context.Context, r backend.ScriptRunner,\n", g.fn)
	line := ""
	for _, param := range params {
		if line != "" && len(line)+len(param)+2 > columns-8 {
			g.printf("%s\n", line)
			line = ""
		}
		line = strings.TrimPrefix(line+" "+param+",", " ")
	}
	g.printf("%s\n) %s {\n", line, results)
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
	case len(returns) > 1:
		return "(" + g.fn + "Result, error)"
	}
	name := parse.GoName(returns[0].Name, false)
	kind := g.goType(returns[0].Type, false)
	hidden := taken[name] || slices.ContainsFunc(g.s.Header.Bindings, func(b *parse.Binding) bool {
		return parse.GoName(b.Name, false) == name
	})
	switch {
	case hidden && returns[0].Type.Optional:
		return "(" + kind + ", bool, error)"
	case hidden:
		return "(" + kind + ", error)"
	case returns[0].Type.Optional:
		return "(" + name + " " + kind + ", ok bool, err error)"
	}
	return "(" + name + " " + kind + ", err error)"
}

// zeros returns the zero results that a return statement has before the error.
func (g *generator) zeros(err string) string {
	returns := g.s.Header.Returns
	switch {
	case len(returns) == 0:
		return err
	case len(returns) > 1:
		return g.fn + "Result{}, " + err
	case returns[0].Type.Optional:
		return zero(returns[0].Type) + ", false, " + err
	}
	return zero(returns[0].Type) + ", " + err
}

func zero(t parse.Type) string {
	switch {
	case t.List, t.Name == "bytes":
		return "nil"
	case t.Name == "string":
		return `""`
	case t.Name == "bool":
		return "false"
	case t.Name == "unixmilli":
		return "time.Time{}"
	}
	return "0"
}

// refuse writes a check of a key or argument: if condition holds, nothing is sent.
func (g *generator) refuse(condition, name, text string, args ...string) {
	g.printf("if %s {\nreturn %s\n}\n", condition, g.zeros(g.refusal(name, text, args...)))
}

// refusal returns a Go expression for the error of a key or argument.
func (g *generator) refusal(name, text string, args ...string) string {
	return g.errorf(name+": %w: "+text, append([]string{"backend.ErrArgument"}, args...)...)
}

// validate writes the checks of one key or argument.
func (g *generator) validate(b *parse.Binding) {
	v := g.value(b)
	switch {
	case b.Kind == parse.Key && b.Prefix:
		g.imports["strings"] = true
		g.printf("if _, rest, found := strings.Cut(%s, \"{\"); "+
			"!found || strings.IndexByte(rest, '}') < 1 {\nreturn %s\n}\n",
			v, g.zeros(g.refusal(b.Name, "no hash tag in %q", v)))
	case b.Kind == parse.Command:
		g.imports["strings"] = true
		var parts []string
		for _, choice := range b.Choices {
			parts = append(parts, fmt.Sprintf("!strings.EqualFold(%s, %q)",
				v, strings.ToUpper(choice)))
		}
		g.refuse(strings.Join(parts, " && "), b.Name, "%q is not "+choices(b), v)
	case b.Kind == parse.Key && b.Type.List && len(g.s.Header.Keys()) == 1:
		g.refuse("len("+v+") == 0", b.Name, "no key")
	case b.Kind == parse.Arg:
		g.validateArg(b, v)
	}
}

func (g *generator) validateArg(b *parse.Binding, v string) {
	if b.Per != "" {
		per := v
		for _, other := range g.s.Header.Bindings {
			if other.Name == b.Per {
				per = g.value(other)
			}
		}
		g.refuse(fmt.Sprintf("len(%s) != len(%s)", v, per),
			b.Name, "%d for %d of "+b.Per, "len("+v+")", "len("+per+")")
	}
	one := v
	switch {
	case b.Type.List:
		one = "v"
	case b.Type.Optional:
		one = "*" + v
	}
	condition, text := g.outside(b.Type, one)
	switch {
	case condition == "":
	case b.Type.List:
		g.printf("for _, v := range %s {\n", v)
		g.refuse(condition, b.Name, text, one)
		g.printf("}\n")
	case b.Type.Optional:
		if strings.Contains(condition, "||") {
			condition = "(" + condition + ")"
		}
		g.refuse(v+" != nil && "+condition, b.Name, text, one)
	default:
		g.refuse(condition, b.Name, text, one)
	}
}

// outside returns the condition under which v is no argument of the type, and how an error says so.
func (g *generator) outside(t parse.Type, v string) (condition, text string) {
	switch {
	case t.Name == "float":
		g.imports["math"] = true
		return "math.IsNaN(" + v + ")", "%v is no number"
	case t.IsTime() && !t.Bounded:
		return fmt.Sprintf("%s != 0 && %s < %s", v, v, units[t.Name]),
			"%v is less than a " + strings.TrimSuffix(t.Name, "s")
	case !t.Bounded:
		return "", ""
	}
	condition, text = g.beyond(t, v)
	if t.IsTime() && t.Min <= 0 {
		condition += fmt.Sprintf(" || %s != 0 && %s/%s == 0", v, v, units[t.Name])
	}
	return strings.TrimPrefix(condition, " || "), text
}

// beyond is outside for the bounds of a type alone.
func (g *generator) beyond(t parse.Type, v string) (condition, text string) {
	number, text := v, "%d is not in "+t.Range()
	if t.IsTime() {
		number, text = v+"/"+units[t.Name], "%v is not in "+t.Range()+" "+t.Name
	}
	var parts []string
	if t.Min > math.MinInt64 {
		parts = append(parts, fmt.Sprintf("%s < %d", number, t.Min))
	}
	if t.Max < math.MaxInt64 {
		parts = append(parts, fmt.Sprintf("%s > %d", number, t.Max))
	}
	return strings.Join(parts, " || "), text
}

// validateSlots writes the checks that an SPUBLISH would reach the node that runs the script.
func (g *generator) validateSlots() {
	condition := g.sharded()
	key := g.value(g.s.Header.Keys()[0])
	if g.s.Header.Keys()[0].Type.List {
		key += "[0]"
	}
	for _, b := range g.s.Header.Args() {
		if b.Kind != parse.Channel || condition == "" {
			continue
		}
		v := g.value(b)
		check := fmt.Sprintf("backend.Slot(%s) != backend.Slot(%s)", v, key)
		if condition != "true" {
			check = condition + " && " + check
		}
		if b.Prefix {
			g.shardedPrefix(b, condition, v)
		}
		g.printf("if %s {\nreturn %s\n}\n", check,
			g.zeros(g.errorf(b.Name+": %w", "backend.ErrCrossSlot")))
	}
}

// shardedPrefix writes the check that what begins with a channel prefix has its slot.
func (g *generator) shardedPrefix(b *parse.Binding, condition, v string) {
	g.imports["strings"] = true
	if condition == "true" {
		condition = ""
	} else {
		condition += " && "
	}
	g.printf("if _, rest, found := strings.Cut(%s, \"{\"); "+
		"%s(!found || strings.IndexByte(rest, '}') < 1) {\nreturn %s\n}\n",
		v, condition, g.zeros(g.refusal(b.Name, "no hash tag in %q", v)))
}

// sharded returns the Go condition under which the script calls SPUBLISH: "" is never.
func (g *generator) sharded() string {
	for _, b := range g.s.Header.Bindings {
		if b.Kind == parse.Command && slices.Contains(b.Choices, "spublish") {
			g.imports["strings"] = true
			return fmt.Sprintf("strings.EqualFold(%s, \"SPUBLISH\")", g.value(b))
		}
	}
	if saysSpublish(g.s) {
		return "true"
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
