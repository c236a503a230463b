package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// trace is what is sent around a script: it notes the calls of commands, and returns them with the result.
//
//go:embed trace.lua
var trace string

// tracer runs scripts, and prints the commands that they call.
type tracer struct {
	backend.ScriptRunner
	level string // of the caller of a function, where this calls pcall(error, '', level)
	file  string
	out   io.Writer
	reply backend.Reply // the last
}

// Run implements [backend.ScriptRunner].
func (t *tracer) Run(ctx context.Context, script *backend.Script, keys, args []string) (backend.Reply, error) {
	before, behind, _ := strings.Cut(strings.ReplaceAll(trace, "LEVEL", t.level), "SCRIPT()")
	flags := flagLine.FindString(script.Source)
	source := flags + strings.Join(strings.Fields(before), " ") + " " + returning(script.Source[len(flags):]) + "\n" + behind // No line moves.
	sent := backend.NewScript(script.Name, source, len(keys), backend.RetryNever)
	reply, err := t.ScriptRunner.Run(ctx, sent, keys, args)
	if err != nil {
		return reply, err
	}
	parts, _ := reply.Items()
	calls, _ := parts[0].Items()
	for _, call := range calls {
		t.print(call)
	}
	if refused := text(parts[1]); refused != "" {
		return reply, backend.ParseServerError(refused)
	}
	if raised := text(parts[2]); raised != "" {
		return reply, errors.New(t.placed(raised))
	}
	t.reply = append(parts, backend.Reply{})[3] // nil ends a table
	return t.reply, nil
}

var flagLine = regexp.MustCompile(`^(?:#!.*\n)?`)
var commandCall = regexp.MustCompile(`^(?:redis|server)\.p?call$`)

func isCall(t []parse.Token) bool { return commandCall.MatchString(t[0].Text + t[1].Text + t[2].Text) }

// returning makes "return false or f()" of "return f()", in which Lua forgets the line of f, where f calls a command.
func returning(source string) string {
	s, _ := parse.Parse("", []byte(source), parse.Options{Raw: true})
	tokens := append(s.Tokens, make([]parse.Token, 5)...)
	aliases := map[string]bool{} // of "local call = redis.call"
	var out strings.Builder
	end := 0
	for i, token := range s.Tokens {
		switch next := tokens[i+1].Text; {
		case token.Text == "local" && tokens[i+2].Text == "=" && isCall(tokens[i+3:]):
			aliases[next] = true
		case token.Text == "return" && (aliases[next] || isCall(tokens[i+1:])):
			out.WriteString(source[end:token.End] + " false or")
			end = token.End
		}
	}
	return out.String() + source[end:]
}

func (t *tracer) print(call backend.Reply) {
	parts, _ := call.Items()
	reply := show(parts[2])
	if len(parts) > 3 {
		reply = "error " + text(parts[3])
	}
	fmt.Fprintf(t.out, "%s -> %s\n", t.placed(text(parts[0])+strings.Trim(show(parts[1]), "[]")), reply)
}

// position is what Lua puts before the text of an error. The name of a script differs by server.
var position = regexp.MustCompile(`^[^ :]*: ?(\d+): `)

// placed returns a text with the file, and the line if it begins with a position.
func (t *tracer) placed(text string) string {
	if m := position.FindStringSubmatch(text); m != nil {
		return t.file + ":" + m[1] + ": " + text[len(m[0]):]
	}
	return t.file + ": " + text
}

func text(reply backend.Reply) string {
	s, _ := reply.Text()
	return s
}

// show returns a reply as one line.
func show(reply backend.Reply) string {
	switch reply.Kind() {
	case backend.KindNil:
		return "nil"
	case backend.KindString:
		return strconv.Quote(text(reply))
	case backend.KindInteger:
		return text(reply)
	}
	var texts []string
	items, _ := reply.Items()
	for _, item := range items {
		texts = append(texts, show(item))
	}
	return "[" + strings.Join(texts, " ") + "]"
}
