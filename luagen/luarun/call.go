package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/scriptcall"
	"github.com/hasp-go/hasp/luagen/internal/emit"
	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// badf returns the error of an argument.
func badf(text string, args ...any) error {
	return fmt.Errorf("%w: "+text, append([]any{backend.ErrArgument}, args...)...)
}

// words returns the words of a call, of which the first are keys, from arguments "name=value".
func words(s *parse.Script, c *scriptcall.Call, args []string) (words []string, keys int, err error) {
	given := map[string][]string{}
	for _, arg := range args {
		name, value, found := strings.Cut(arg, "=")
		switch {
		case !found:
			return nil, 0, badf("%q is not name=value", arg)
		case !slices.ContainsFunc(s.Header.Bindings, func(b *parse.Binding) bool { return b.Name == name }):
			err = badf("%s declares no %s", s.File, name)
		}
		given[name] = append(given[name], value)
	}
	for i, b := range append(s.Header.Keys(), s.Header.Args()...) {
		switch n := len(given[b.Name]); {
		case b.Type.List && i == 0:
			c.NotEmpty(b.Name, n)
		case b.Type.List && b.Per != "":
			c.SameLength(b.Name, n, b.Per, len(given[b.Per]))
		case n == 0 && b.Type.Optional && b.Kind != parse.Key:
			words = append(words, "")
		case n > 1 && !b.Type.List || n == 0 && !b.Type.List && !b.Type.Optional:
			return nil, 0, badf("write %s=value once, of type %s", b.Name, b.Type)
		}
		for _, value := range given[b.Name] {
			word, err := word(c, b, value)
			if err != nil {
				return nil, 0, badf("%s=%s is no %s%s", b.Name, value, b.Type, example[b.Type.Name])
			}
			words = append(words, word)
		}
		if b.Kind == parse.Key {
			keys = len(words)
		}
	}
	return words, keys, err
}

// example says how to write a time.
var example = map[string]string{
	"milliseconds": ": write its unit, as in 500ms, 30s or 1h30m", "seconds": ": write its unit, as in 30s or 1h30m",
	"unixmilli": ": write it as in 2026-01-31T12:00:00Z",
}

// word returns a value as the script gets it. If it is no such value, it returns an error; c has one if it is out of bounds.
func word(c *scriptcall.Call, b *parse.Binding, value string) (string, error) {
	switch {
	case b.Kind == parse.Command:
		return c.Command(b.Name, value, b.Choices...), nil
	case b.Choices != nil:
		return c.OneOf(b.Name, value, b.Choices...), nil
	case b.Prefix && b.Kind == parse.Key:
		return c.Prefix(b.Name, value), nil
	}
	switch b.Type.Name {
	case "int":
		v, err := strconv.ParseInt(value, 10, 64)
		return c.In(bounds(b.Type, math.MinInt64)).Int(b.Name, v), err
	case "float":
		v, err := strconv.ParseFloat(value, 64)
		return c.Float(b.Name, v), err
	case "bool":
		v, err := strconv.ParseBool(value)
		return c.Bool(b.Name, v), err
	case "milliseconds":
		v, err := time.ParseDuration(value)
		return c.In(bounds(b.Type, 1)).Milliseconds(b.Name, v), err
	case "seconds":
		v, err := time.ParseDuration(value)
		return c.In(bounds(b.Type, 1)).Seconds(b.Name, v), err
	case "unixmilli":
		v, err := time.Parse(time.RFC3339, value)
		return c.UnixMilli(b.Name, v), err
	}
	return value, nil
}

// bounds returns the least and the most that a type has. Without any, the least is given.
func bounds(t parse.Type, least int64) (int64, int64) {
	if t.Bounded {
		return t.Min, t.Max
	}
	return least, math.MaxInt64
}

// results returns a line for each result, as the function that luagen makes returns them.
func results(s *parse.Script, reply backend.Reply) (lines string, err error) {
	returns := s.Header.Returns
	switch {
	case len(returns) == 0:
		return "", nil
	case s.Header.None != nil && reply.IsNil():
		return "ok bool = false\n", nil
	case len(returns) == 1:
		reply = backend.ArrayReply([]backend.Reply{reply})
	}
	out := scriptcall.Listed(reply, len(returns))
	for _, r := range returns {
		lines += fmt.Sprintf("%s %s = %s\n", r.Name, emit.GoType(s, r.Type), next(&out, r))
	}
	return scriptcall.All(lines, out)
}

func next(out *scriptcall.Tuple, r *parse.Result) string {
	if r.Type.List {
		return fmt.Sprint(scriptcall.NextList(out, r.Name, decoder(r.Type)))
	}
	return scriptcall.Next(out, r.Name, decoder(r.Type))
}

// decode returns the text of one value of a reply.
type decode func(backend.Reply) (string, error)

func decoder(t parse.Type) decode {
	in := scriptcall.In(bounds(t, math.MinInt64))
	one := map[string]decode{
		"string": shown("%q", backend.Reply.Text), "bytes": shown("%q", scriptcall.Bytes),
		"int": shown("%d", in.Int), "float": shown("%v", backend.Reply.Float), "bool": shown("%v", backend.Reply.Bool),
		"milliseconds": shown("%v", in.Milliseconds), "seconds": shown("%v", in.Seconds),
		"unixmilli": shown("%v", backend.Reply.UnixMilli), "scores": shown("%+v", scriptcall.Scores),
	}[t.Name]
	if t.Hash != nil {
		one = func(reply backend.Reply) (string, error) { return hash(t, reply) }
	}
	if !t.Optional {
		return one
	}
	return func(reply backend.Reply) (string, error) {
		v, err := scriptcall.OrNil(one)(reply)
		if v == nil {
			return "nil", err
		}
		return *v, err
	}
}

// shown returns the decode that reads a value, and formats it.
func shown[T any](format string, read func(backend.Reply) (T, error)) decode {
	return func(reply backend.Reply) (string, error) {
		v, err := read(reply)
		return fmt.Sprintf(format, v), err
	}
}

func hash(t parse.Type, reply backend.Reply) (string, error) {
	out := scriptcall.Listed(reply, len(t.Hash.Fields))
	if !t.Hash.Listed {
		out = scriptcall.Fields(reply, t.Hash.Names()...)
	}
	if t.Optional {
		out = out.OrNone()
	}
	var texts []string
	for _, f := range t.Hash.Fields {
		texts = append(texts, f.Name+": "+next(&out, f))
	}
	return scriptcall.All("{"+strings.Join(texts, ", ")+"}", out)
}
