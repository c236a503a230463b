// Package forms hands scripts over in the ways that Go projects do. Each line with EXISTS has a finding, unless a comment says
// that the script is named.
package forms

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	redigo "github.com/gomodule/redigo/redis"
	"github.com/hasp-go/hasp/luagen/testdata/vet/go_forms/other"
	"github.com/mediocregopher/radix/v4"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	glide "github.com/valkey-io/valkey-glide/go/v2"
	"github.com/valkey-io/valkey-glide/go/v2/options"
)

const wrapped = `if redis.call('exists', KEYS[1]) then return 'wrapper' end return 0`

const passed = `if redis.call('exists', KEYS[1]) then return 'function of the package' end return 0`

const called = "local rcall = redis.call\nif rcall('exists', KEYS[1]) then return 'another name' end return 0"

const pcall = "if redis.pcall('exists', KEYS[1]) then return 'pcall' end return 0"

const valkey = "if server.call('exists', KEYS[1]) then return 'server' end return 0"

var (
	one, two = `if redis.call('exists', KEYS[1]) then return 'var block' end return 0`, 0
	three, _ = 0, `if redis.call('exists', KEYS[1]) then return 'second of a var block' end return 0`
)

type source string

type script struct{ name, src string }

var (
	own     = NewScriptWithHash("own", `if redis.call('exists', KEYS[1]) then return 'constructor' end return 0`)
	typed   = other.Must("typed", source(`if redis.call('exists', KEYS[1]) then return 'named type' end return 0`))
	field   = script{src: `if redis.call('exists', KEYS[1]) then return 'field' end return 0`}
	pointer = &script{name: "p", src: `if redis.call('exists', KEYS[1]) then return 'field behind a pointer' end return 0`}
	list    = []script{{"x", `if redis.call('exists', KEYS[1]) then return 'element without field names' end return 0`}}
	bytes   = []byte(`if redis.call('exists', KEYS[1]) then return 'bytes' end return 0`)
	once    = sync.OnceValue(func() *redis.Script {
		return redis.NewScript(`if redis.call('exists', KEYS[1]) then return 'once' end return 0`)
	})
	radix4 = radix.NewEvalScript(`if redis.call('exists', KEYS[1]) then return 'radix' end return 0`)
	radix3 = radix.NewEvalScript(1, `if redis.call('exists', KEYS[1]) then return 'radix 3' end return 0`)
	sum    = "if redis.call('exists', KEYS[1]) then " +
		"return 'sum' end " + "return 0"
	mixed = redis.NewScript(strings.TrimSpace("\nif redis.call('exists', KEYS[1]) then ") + " return 'sum of calls' end return 0")
	table = map[string]string{"k": `if redis.call('exists', KEYS[1]) then return 'map' end return 0`}
)

type kind int

const (
	_ kind = iota
	second
)

var byKind = [...]string{
	second: `if redis.call('exists', KEYS[1]) then return 'array' end return 0`,
}

const format = "if redis.call('exists', '%s' .. KEYS[1]) then return '%5d%%' end return 0" // no script alone

func wrappers(ctx context.Context, q *queue, c redis.Cmdable, k kind, own string) {
	q.eval(ctx, wrapped, nil)
	run(ctx, c, passed)
	generic[int](ctx, c, `if redis.call('exists', KEYS[1]) then return 'type parameter' end return 0`)
	c.Eval(ctx, list[0].src, nil)
	c.Eval(ctx, string(bytes), nil)
	c.Eval(ctx, table["k"], nil)
	c.Eval(ctx, byKind[k], nil)
	c.Eval(ctx, pick(true), nil)
	c.Eval(ctx, field.src, nil)
	c.Eval(ctx, other.Exported, nil) // named
	c.Eval(ctx, other.Source(), nil) // named
	c.Eval(ctx, other.Dedent(`if redis.call('exists', KEYS[1]) then return 'changed by others' end return 0`), nil)
	c.Eval(ctx, fmt.Sprintf(format, other.Prefix, 7), nil) // named
	c.Eval(ctx, fmt.Sprintf(`if redis.call('exists', KEYS[1]) then return 'Sprintf %d' end return 0`, 3), nil)
	c.Eval(ctx, strings.ReplaceAll(`if redis.call('exists', KEYS[1]) then return 'replaced $NAME' end return 0`, "$NAME", "x"), nil)
	c.Eval(ctx, strings.Join([]string{ // named
		"if redis.call('exists', KEYS[1]) then", // no script alone
		"return 'joined' end",
		"return 0",
	}, "\n"), nil)
	c.Eval(ctx, "if redis.call('exists', KEYS[1]) then return 'for "+own+"' end return 0", nil)
	c.Eval(ctx, cmp.Or(field.src, `if redis.call('exists', KEYS[1]) then return 'or' end return 0`), nil)
	for _, s := range slices.Values(list) {
		q.eval(ctx, s.src, nil)
	}
}

func clients(ctx context.Context, q *queue, c redis.Cmdable, conn redigo.Conn, r rueidis.Client, g *glide.Client) {
	eval := c.Eval
	eval(ctx, `if redis.call('exists', KEYS[1]) then return 'method value' end return 0`, nil)
	local := "if redis.call('exists', KEYS[1]) then return 'local' end return 0"
	c.Eval(ctx, local, nil)
	c.EvalRO(ctx, `if redis.call('exists', KEYS[1]) then return 'EvalRO' end return 0`, nil)
	c.EvalWithCtx(ctx, `if redis.call('exists', KEYS[1]) then return 'another method' end return 0`, nil)
	c.EvalSha(ctx, other.Sum(`if redis.call('exists', KEYS[1]) then return 'sum of a script' end return 0`), nil)
	c.Pipelined(ctx, func(p redis.Pipeliner) error {
		return p.Eval(ctx, `if redis.call('exists', KEYS[1]) then return 'pipeline' end return 0`, nil).Err()
	})
	c.Process(ctx, redis.NewCmd(ctx, "EVAL", `if redis.call('exists', KEYS[1]) then return 'command' end return 0`, 1, "k"))
	c.Do(ctx, "EVAL", `if redis.call('exists', KEYS[1]) then return 'Do' end return 0`, 1, "k")
	c.Do(ctx, []any{"EVAL", `if redis.call('exists', KEYS[1]) then return 'list of words' end return 0`, 1, "k"}...)
	conn.Send("EVAL", `if redis.call('exists', KEYS[1]) then return 'Send' end return 0`, 1, "k")
	conn.Send("SCRIPT", "LOAD", `if redis.call('exists', KEYS[1]) then return 'SCRIPT LOAD' end return 0`)
	conn.Do("EVAL", redigo.Args{}.Add(`if redis.call('exists', KEYS[1]) then return 'Args' end return 0`).Add(1)...)
	r.Do(ctx, r.B().Eval().Script(`if redis.call('exists', KEYS[1]) then return 'builder' end return 0`).Numkeys(1).Key("k").Build())
	r.Do(ctx, r.B().Arbitrary("EVAL", `if redis.call('exists', KEYS[1]) then return 'arbitrary' end return 0`, "1").Keys("k").Build())
	g.InvokeScript(ctx, *options.NewScript(`if redis.call('exists', KEYS[1]) then return 'glide' end return 0`))
	g.CustomCommand(ctx, []string{"EVAL", `if redis.call('exists', KEYS[1]) then return 'custom command' end return 0`, "1", "k"})
	q.c.Do(ctx, radix.Cmd(nil, "EVAL", `if redis.call('exists', KEYS[1]) then return 'command of radix' end return 0`, "1", "k"))
	go q.ScriptEvaluate(`if redis.call('exists', KEYS[1]) then return 'go' end return 0`)
	var b strings.Builder
	b.WriteString(`if redis.call('exists', KEYS[1]) then return 'strings.Builder' end return 0`)
	c.Eval(ctx, b.String(), nil) // named
}

func run(ctx context.Context, c redis.Cmdable, lua string) { c.Eval(ctx, lua, nil) }

func generic[T any](ctx context.Context, c redis.Cmdable, lua string) (v T) {
	c.Eval(ctx, lua, nil)
	return
}

func pick(first bool) string {
	if first {
		return `if redis.call('exists', KEYS[1]) then return 'first result' end return 0`
	}
	return `if redis.call('exists', KEYS[1]) then return 'second result' end return 0`
}

func (script) Source() string {
	return `if redis.call('exists', KEYS[1]) then return 'result of a method' end return 0`
}

func named(ctx context.Context, c redis.Cmdable, given string) {
	grown := "if redis.call('exists', KEYS[1]) then " // no script alone
	grown += given
	rising := "if redis.call('exists', KEYS[1]) then return 1 end " // no script alone
	rising += given
	other.Run(rising)
	c.Eval(ctx, grown, nil)                                                        // named
	c.Eval(ctx, given, nil)                                                        // named
	other.Run("if redis.call('exists', " + given + ") then return 1 end return 0") // named
	other.Run(strings.NewReplacer("$KEY", "k").Replace("if redis.call('exists', '$KEY') then return 1 end return 0"))
	other.Run(fmt.Sprintf("if redis.call('exists', '%s') then return 1 end return 0", given))                                  // named
	c.FunctionLoad(ctx, "#!lua name=l\nredis.register_function('f', function(keys) return redis.call('exists', keys[1]) end)") // named
	c.Eval(ctx, "if redis.call('exists', KEYS[1]) then "+given, nil)                                                           //luagen:unseen given comes from a file that is read here
	head, tail := "local n = 1 ", "if redis.call('exists', KEYS[1]) then return n end return 0"
	c.Eval(ctx, head+tail, nil)
	//luagen:unseen the tests have the text
	c.Eval(ctx, given, nil)
	//luagen:unseen
	c.Eval(ctx, given, nil) // named: the comment has no reason
}
