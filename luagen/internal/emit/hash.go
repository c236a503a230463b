package emit

import (
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

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
