// Package scripts keeps its Lua in Go.
package scripts

import (
	"context"
	"fmt"

	redigo "github.com/gomodule/redigo/redis"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/valkey-io/valkey-go"
)

const head = "local n = redis.call('incr', KEYS[1])\n"

const limit = head + `
if n > ARGV[1] then
	return 0
end
return n`

var (
	one   = redis.NewScript(limit)
	two   = rueidis.NewLuaScript(`return redis.call('hste', KEYS[1])`)
	three = valkey.NewLuaScriptReadOnly("return redis.call(\n\t'get',\n\tKEYS[1], \"\u00e4\", 1)")
	four  = redigo.NewScript(1, "local é = 1\nreturn redis.call('get', KEYS[1])")
	tail  = "return 'äö' == redis.call('get', KEYS[1], 'f')"
)

func evals(ctx context.Context, c redis.Cmdable, conn redigo.Conn, r rueidis.Client, table string, given string) {
	script := `
-- Sets both.
redis.call('set', KEYS[1], 1)
redis.call('incr', KEYS[2])
redis.call('expire', KEYS[1], 5)
return redis.call('get', KEYS[1]) == nil
`
	c.Eval(ctx, script, []string{"k"})
	c.Eval(ctx, "x = 1 return redis.call('get', KEYS[1])", []string{"k"})
	conn.Do("eval", tail, 1, "k")
	r.Do(ctx, r.B().Eval().Script("return redis.call('gett', KEYS[1])").Numkeys(1).Key("k").Build())
	redis.NewScript(fmt.Sprintf("return redis.call('get', '%s')", table))
	c.Eval(ctx, "return redis.call('get', KEYS[1])"+table, nil)
	redis.NewScript(given)
	one.Eval(ctx, c, []string{"k"}, 1)
	page := browser{}
	page.Eval("() => document.title")
}

type wrap struct{}

func (wrap) NewScript(keys int, src, sha string) string { return src }

var five = wrap{}.NewScript(1, `return redis.call('getset', KEYS[1])`, "sha")

type browser struct{}

func (browser) Eval(string) {}

func scopes(ctx context.Context, c redis.Cmdable) {
	script := "return redis.call('gett', KEYS[1])"
	for _, of := range []struct{ script *redis.Script }{{redis.NewScript(script)}} {
		script := "return redis.call('hste', KEYS[1])"
		c.Eval(ctx, script, []string{"k"})
		of.script.Run(ctx, c, []string{"k"})
	}
	_ = script, 1 // Go refuses it.
}

func small(conn redigo.Conn) { conn.Do("eval_ro", "return redis.call('set', KEYS[1], 1)", 1, "k") }
