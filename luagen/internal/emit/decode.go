package emit

import (
	"fmt"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// decoder writes the function that reads the reply.
func (g *generator) decoder() {
	returns := g.s.Header.Returns
	if len(returns) == 0 {
		return
	}
	if len(returns) == 1 {
		g.decodeOne(returns[0])
		return
	}
	g.printf("// decode%s reads the reply of the script.\n", g.fn)
	g.printf("func decode%s(reply backend.Reply) (result %sResult, err error) {\n", g.fn, g.fn)
	g.printf("items, err := reply.Tuple(%d)\n%s", len(returns), g.onError("%w", "err"))
	for i, r := range returns {
		target := "result." + parse.GoName(r.Name, true)
		from := fmt.Sprintf("items[%d]", i)
		if !r.Type.Optional {
			g.decode(r, target, from)
			continue
		}
		g.printf("if %sOK = !%s.IsNil(); %sOK {\n", target, from, target)
		g.decode(r, target, from)
		g.printf("}\n")
	}
	g.printf("return result, nil\n}\n")
}

// decodeOne reads a reply that is one value.
func (g *generator) decodeOne(r *parse.Result) {
	ok, done := "", "value, nil"
	if r.Type.Optional {
		ok, done = "ok bool, ", "value, true, nil"
	}
	g.printf("// decode%s reads the reply of the script.\n", g.fn)
	g.printf("func decode%s(reply backend.Reply) (value %s, %serr error) {\n",
		g.fn, g.goType(r.Type, false), ok)
	if r.Type.Optional {
		g.printf("if reply.IsNil() {\nreturn %s, false, nil\n}\n", zero(r.Type))
	}
	g.decode(r, "value", "reply")
	g.printf("return %s\n}\n", done)
}

// decode reads one result from the reply called from into target.
func (g *generator) decode(r *parse.Result, target, from string) {
	if !r.Type.List {
		g.decodeScalar(r, target, from)
		return
	}
	list := "list"
	g.printf("%s%s, err := %s.Items()\n%s", list, parse.GoName(r.Name, true), from,
		g.onError(r.Name+": %w", "err"))
	list += parse.GoName(r.Name, true)
	g.printf("%s = make(%s, len(%s))\nfor i, item := range %s {\n",
		target, g.goType(r.Type, false), list, list)
	g.decodeScalar(r, target+"[i]", "item")
	g.printf("}\n")
}

func (g *generator) decodeScalar(r *parse.Result, target, from string) {
	if r.Type.Name == "bytes" {
		g.printf("text%s, err := %s.Text()\n%s%s = []byte(text%s)\n",
			parse.GoName(r.Name, true), from, g.onError(r.Name+": %w", "err"), target,
			parse.GoName(r.Name, true))
		return
	}
	g.printf("if %s, err = %s.%s; err != nil {\nreturn %s\n}\n", target, from,
		methods[r.Type.Name], g.zeros(g.errorf(r.Name+": %w", "err")))
	if !r.Type.Bounded {
		return
	}
	if condition, text := g.beyond(r.Type, target); condition != "" {
		g.printf("if %s {\nreturn %s\n}\n", condition,
			g.zeros(g.errorf(r.Name+": %w: "+text, "backend.ErrReply", target)))
	}
}

func (g *generator) onError(text, cause string) string {
	return fmt.Sprintf("if err != nil {\nreturn %s\n}\n", g.zeros(g.errorf(text, cause)))
}

// methods are those of backend.Reply.
var methods = map[string]string{
	"string": "Text()", "int": "Int()", "float": "Float()", "bool": "Bool()",
	"milliseconds": "Duration(time.Millisecond)", "seconds": "Duration(time.Second)",
	"unixmilli": "UnixMilli()",
}
